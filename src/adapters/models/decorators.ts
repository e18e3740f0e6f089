export type { DecoratorRuntime } from "./common/decorator-runtime.js";
export { fallback, FALLBACK_KINDS, type FallbackOptions } from "./decorators/fallback.js";
export { rateLimited, type RateLimitOptions } from "./decorators/rate-limited.js";
export { type AfterOutput, retrying, type RetryOptions } from "./decorators/retrying.js";
export { asksFor, hasImages, largerThan, type ModelRoute, routed } from "./decorators/routed.js";
export { type TimeoutOptions, timeouts } from "./decorators/timeouts.js";
