import type { TObject, TSchema } from "@sinclair/typebox";
import { adopt } from "../../domain/adopt.js";
import { CompositionError, ToolError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolDef } from "../../domain/tool.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { ToolContext, ToolHooks, ToolProvider, ToolReturn, Validation } from "../../ports/tool-provider.js";
import { checkableSchema } from "./checkable-schema.js";
import type { ToolDefinition } from "./tool-definition.js";
import { checkArguments } from "./typebox-check.js";

/** A provider of one tool whose definition can be read without listing. */
export interface DefinedTool extends ToolProvider {
  /** Deep-frozen; `listTools` gives this very object each time. */
  readonly def: ToolDef;
  readonly trustAnnotations: true;
  validate(name: string, args: JsonObject): Validation;
}

/**
 * Makes a tool of a TypeBox schema and functions whose types follow from it. The definition is copied; the schema itself is kept for
 * checking and must not change. Throws `CompositionError("invalid-schema")` for parameters that are no TypeBox object schema or that
 * JSON cannot satisfy.
 */
export function defineTool<P extends TObject, O extends TSchema | undefined = undefined>(
  definition: ToolDefinition<P, O>,
): DefinedTool {
  const { name, prepareArguments } = definition;
  if (typeof definition.execute !== "function") {
    throw new CompositionError("invalid-config", `tool ${safeLabel(String(name))} has no execute function`);
  }
  const schema = checkableSchema(definition.parameters, name);
  const def = defOf(definition);
  const defs = Object.freeze([def]);
  const { execute, conflictKeys, hooks } = untyped(definition);
  return {
    def,
    trustAnnotations: true,
    listTools: () => defs,
    validate: (_name, args) => checkArguments(schema, args),
    execute: async (call, context) => {
      if (call.name !== name) throw new ToolError("unknown-tool", `no tool ${safeLabel(call.name)} here`);
      if (context.signal.aborted) throw new ToolError("aborted", `${safeLabel(name)} was aborted before it began`);
      return await execute(call.arguments, context);
    },
    ...(prepareArguments && { prepareArguments: (_name, raw) => prepareArguments(raw) }),
    ...(hooks && { hooks: () => hooks }),
    ...(conflictKeys && { conflictKeys: (call) => conflictKeys(call.arguments) }),
  };
}

type Described = Omit<ToolDef, "inputSchema" | "outputSchema"> & {
  readonly parameters: TObject;
  readonly output?: TSchema | undefined;
};

function defOf(definition: Described): ToolDef {
  const { name, label, description, parameters, output, executionMode, annotations, metadata, source, timeoutMs } =
    definition;
  const rest = { label, executionMode, annotations, metadata, source, timeoutMs };
  const place = `tool ${safeLabel(name)}`;
  try {
    return adopt({ name, description, inputSchema: parameters, outputSchema: output, ...rest } as ToolDef, place);
  } catch (cause) {
    throw new CompositionError("invalid-schema", `the definition of ${place} is not JSON`, { cause });
  }
}

/** The functions as the port sees them. */
type Untyped = {
  readonly execute: (args: JsonObject, context: ToolContext) => Awaitable<ToolReturn>;
  readonly conflictKeys?: (args: JsonObject) => readonly string[];
  readonly hooks: ToolHooks | undefined;
};

/** The one place where the schema is taken at its word: whoever runs a tool has validated the arguments before. */
function untyped<P extends TObject, O extends TSchema | undefined>(definition: ToolDefinition<P, O>): Untyped {
  const { execute, conflictKeys, beforeExecute, afterExecute } = definition as unknown as Omit<Untyped, "hooks"> &
    ToolHooks;
  const hooks = { ...(beforeExecute && { beforeExecute }), ...(afterExecute && { afterExecute }) };
  return {
    execute,
    ...(conflictKeys && { conflictKeys }),
    hooks: Object.keys(hooks).length === 0 ? undefined : Object.freeze(hooks),
  };
}
