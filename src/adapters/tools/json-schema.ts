export type { DefinedTool } from "./made-tool.js";
export type { FormatCheck } from "./json-schema/format-checks.js";
export {
  type JsonSchemaOutput,
  jsonSchemaTool,
  type JsonSchemaToolDefinition,
  type JsonSchemaToolOptions,
} from "./json-schema/json-schema-tool.js";
export type { JsonSchemaArguments, JsonSchemaValue } from "./json-schema/json-schema-type.js";
export type { ToolDescription, ToolFunctions } from "./tool-functions.js";
