export type { DecoratorRuntime } from "./common/decorator-runtime.js";
export type { ApiKey } from "./wire/endpoint.js";
export { proxyHandler, type ProxyHandlerOptions } from "./proxy/proxy-handler.js";
export { proxyModel, type ProxyModelOptions } from "./proxy/proxy-model.js";
