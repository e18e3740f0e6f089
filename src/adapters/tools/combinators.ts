export { composite, type CompositeOptions } from "./combinators/composite.js";
export { filtered, type ToolFilter } from "./combinators/filtered.js";
export { namespaced } from "./combinators/namespaced.js";
export { refreshing, type RefreshOptions } from "./combinators/refreshing.js";
export { type AroundTool, type RunTool, wrapped } from "./combinators/wrapped.js";
export { joinedName } from "./joined-name.js";
