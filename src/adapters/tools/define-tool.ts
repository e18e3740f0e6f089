import type { TObject, TSchema } from "@sinclair/typebox";
import { checkFields } from "../../domain/known-fields.js";
import { checkDefinition } from "./check-definition.js";
import { type DefinedTool, madeTool, type UntypedFunctions, verdictOf } from "./made-tool.js";
import type { ToolDefinition, ToolOutput } from "./tool-definition.js";
import { checkPatternKind } from "./schema-check/schema-patterns.js";
import { typeboxCheck } from "./typebox-schema.js";

/** How the keywords are read that schemas leave open. */
export type DefineToolOptions = {
  /** `"linear"` (default) matches in time that grows with the text, and refuses look-around and back references; `"native"` is `RegExp`. */
  readonly patterns?: "linear" | "native" | undefined;
};

/**
 * Makes a tool of TypeBox schemas and functions whose types follow from them. The definition is copied; the schemas themselves are kept for
 * checking and must not change. Throws `CompositionError`: "invalid-config" naming the field of a definition that is not what it should be,
 * "invalid-schema" naming the place in a schema that nobody can check, or that JSON cannot satisfy.
 */
export function defineTool<
  P extends TObject,
  O extends TSchema | undefined = undefined,
  const R extends ToolOutput<O> = ToolOutput<O>,
>(definition: ToolDefinition<P, O, R>, options: DefineToolOptions = {}): DefinedTool {
  checkDefinition("defineTool", definition, ["parameters", "output"]);
  checkFields("defineTool", options, ["patterns"]);
  const { patterns = "linear" } = options;
  checkPatternKind("defineTool", patterns);
  const { name, parameters, output } = definition;
  const input = typeboxCheck(parameters, name, "parameters", patterns);
  const outputCheck = output === undefined ? undefined : typeboxCheck(output, name, "output", patterns);
  // The one place where the schemas are taken at their word: whoever runs a tool has validated the arguments before.
  return madeTool(definition, definition as unknown as UntypedFunctions, {
    input: parameters,
    output,
    validate: (args) => verdictOf(input.issues(args), args),
    checkOutput: outputCheck && ((value) => verdictOf(outputCheck.issues(value), value)),
  });
}
