export type { DecoratorRuntime } from "./decorator-runtime.js";
export type { ApiKey } from "./endpoint.js";
export { proxyHandler, type ProxyHandlerOptions } from "./proxy-handler.js";
export { proxyModel, type ProxyModelOptions } from "./proxy-model.js";
