export type { DecoratorRuntime } from "./decorator-runtime.js";
export { fallback, FALLBACK_KINDS, type FallbackOptions } from "./fallback.js";
export { rateLimited, type RateLimitOptions } from "./rate-limited.js";
export { type AfterOutput, retrying, type RetryOptions } from "./retrying.js";
export { asksFor, hasImages, largerThan, type ModelRoute, routed } from "./routed.js";
export { type TimeoutOptions, timeouts } from "./timeouts.js";
