import type { TObject, TSchema } from "@sinclair/typebox";
import { checkableSchema } from "./checkable-schema.js";
import { checkDefinition, type DefinedTool, madeTool, type UntypedFunctions } from "./made-tool.js";
import type { ToolDefinition, ToolOutput } from "./tool-definition.js";
import { checkArguments, checkValue } from "./typebox-check.js";

/**
 * Makes a tool of TypeBox schemas and functions whose types follow from them. The definition is copied; the schemas themselves are kept for
 * checking and must not change. Throws `CompositionError("invalid-schema")` for parameters that are no TypeBox object schema, and for schemas that
 * JSON cannot satisfy.
 */
export function defineTool<
  P extends TObject,
  O extends TSchema | undefined = undefined,
  const R extends ToolOutput<O> = ToolOutput<O>,
>(definition: ToolDefinition<P, O, R>): DefinedTool {
  checkDefinition(definition);
  const { name, parameters, output } = definition;
  const schema = checkableSchema(parameters, name, "parameters");
  const outputSchema = output === undefined ? undefined : checkableSchema(output, name, "output");
  // The one place where the schemas are taken at their word: whoever runs a tool has validated the arguments before.
  return madeTool(definition, definition as unknown as UntypedFunctions, {
    input: parameters,
    output,
    validate: (args) => checkArguments(schema, args),
    checkOutput: outputSchema && ((value) => checkValue(outputSchema, value)),
  });
}
