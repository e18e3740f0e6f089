/**
 * The schema library as this package holds it. Its registries are not those of an `@sinclair/typebox` of your own: register formats and
 * custom kinds here, before the tool that names them is defined. Schemas made with either copy are understood.
 */
export {
  FormatRegistry,
  Kind,
  type Static,
  type TObject,
  type TSchema,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
export { defineTool, type DefineToolOptions } from "./define-tool.js";
export type { DefinedTool } from "./made-tool.js";
export type { ToolDefinition, ToolOutput } from "./tool-definition.js";
export type { ToolDescription, ToolFunctions, Unchanging } from "./tool-functions.js";
export { ToolRegistry } from "./tool-registry.js";
