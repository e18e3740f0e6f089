import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { checkFields } from "../../../domain/known-fields.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolResult } from "../../../domain/tool.js";
import type { ToolReturn } from "../../../ports/tool-provider.js";
import { checkDefinition } from "../check-definition.js";
import { type DefinedTool, madeTool, type UntypedFunctions, verdictOf } from "../made-tool.js";
import { checkPatternKind } from "../schema-check/schema-patterns.js";
import type { ToolDescription, ToolFunctions } from "../tool-functions.js";
import type { FormatCheck } from "./format-checks.js";
import { SchemaValidator } from "./schema-validator.js";
import type { JsonSchemaArguments, JsonSchemaValue } from "./json-schema-type.js";

/** What `execute` may return: with an `outputSchema` its type or a whole result, else anything at all (U3). */
export type JsonSchemaOutput<O extends JsonObject | undefined> = O extends JsonObject
  ? JsonSchemaValue<O> | ToolResult
  : ToolReturn;

/** A tool whose schemas are JSON Schema 2020-12. The types of all functions follow from them where the compiler knows them. */
export type JsonSchemaToolDefinition<
  I extends JsonObject,
  O extends JsonObject | undefined = undefined,
  R extends JsonSchemaOutput<O> = JsonSchemaOutput<O>,
> = ToolDescription &
  ToolFunctions<JsonSchemaArguments<I>, R> & {
    /** Its `type` is `"object"`. */
    readonly inputSchema: I;
    /** What `execute` returns is checked against it, in a whole result its `structured`; what does not fit is an error result. */
    readonly outputSchema?: O;
  };

/** How the keywords are read that JSON Schema leaves open. */
export type JsonSchemaToolOptions = {
  /** What `format` means, by its name; a format that is not here only tells the model. */
  readonly formats?: Readonly<Record<string, FormatCheck>> | undefined;
  /** `"linear"` (default) matches in time that grows with the text, and refuses look-around and back references; `"native"` is `RegExp`. */
  readonly patterns?: "linear" | "native" | undefined;
};

/**
 * Makes a tool of raw JSON Schema 2020-12. The validator (Ajv) makes code of the schemas, so they must be the application's own, never those of a
 * server or a user. Throws `CompositionError("invalid-schema")` naming the place in the schema for what cannot be checked as it is
 * written: remote, dangling and endless references, other drafts, boolean and non-object roots, `__proto__`, patterns that are none.
 */
export function jsonSchemaTool<
  const I extends JsonObject,
  const O extends JsonObject | undefined = undefined,
  const R extends JsonSchemaOutput<O> = JsonSchemaOutput<O>,
>(definition: JsonSchemaToolDefinition<I, O, R>, options: JsonSchemaToolOptions = {}): DefinedTool {
  checkDefinition("jsonSchemaTool", definition, ["inputSchema", "outputSchema"]);
  checkOptions(options);
  const { name, inputSchema, outputSchema } = definition;
  const input = new SchemaValidator(inputSchema, { ...options, tool: name, role: "inputSchema" });
  const output =
    outputSchema === undefined
      ? undefined
      : new SchemaValidator(outputSchema, { ...options, tool: name, role: "outputSchema" });
  // The one place where the schemas are taken at their word: whoever runs a tool has validated the arguments before.
  return madeTool(definition, definition as unknown as UntypedFunctions, {
    input: input.schema,
    output: output?.schema,
    validate: (args) => verdictOf(input.issues(args), args),
    checkOutput: output && ((value) => verdictOf(output.issues(value), value)),
  });
}

function checkOptions(options: JsonSchemaToolOptions): void {
  checkFields("jsonSchemaTool", options, ["formats", "patterns"]);
  const { formats = {}, patterns = "linear" } = options;
  checkPatternKind("jsonSchemaTool", patterns);
  if (!isJsonObject(formats))
    throw new CompositionError("invalid-config", "the formats of jsonSchemaTool are no object");
  const wrong = Object.entries(formats).find(([, check]) => typeof check !== "function" && !(check instanceof RegExp));
  if (wrong === undefined) return;
  const text = `the format ${safeLabel(wrong[0])} of jsonSchemaTool is neither a function nor a regular expression`;
  throw new CompositionError("invalid-config", text);
}
