export { type Static, Type } from "@sinclair/typebox";
export { defineTool, type DefinedTool } from "./define-tool.js";
export type { ToolDefinition, ToolOutput } from "./tool-definition.js";
export { ToolRegistry } from "./tool-registry.js";
