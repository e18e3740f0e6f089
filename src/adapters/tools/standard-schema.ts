export type { DefinedTool } from "./made-tool.js";
export {
  standardSchemaTool,
  type StandardSchemaToolDefinition,
  type StandardToolOutput,
} from "./standard-schema/standard-schema-tool.js";
export type {
  StandardInput,
  StandardIssue,
  StandardOutput,
  StandardResult,
  StandardSchema,
} from "./standard-schema/standard-types.js";
export type { ToolDescription, ToolFunctions, Unchanging } from "./tool-functions.js";
