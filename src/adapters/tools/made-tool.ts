import { adopt } from "../../domain/adopt.js";
import { thrownLabel } from "../../domain/describe-thrown.js";
import { CompositionError, ToolError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type {
  ToolContext,
  ToolHooks,
  ToolProvider,
  ToolReturn,
  Validation,
  ValidationIssue,
} from "../../ports/tool-provider.js";
import { checkedOutput, type OutputCheck } from "./checked-output.js";
import type { ToolDescription } from "./tool-functions.js";

/** A provider of one tool whose definition can be read without listing. */
export interface DefinedTool extends ToolProvider {
  /** Deep-frozen; `listTools` gives this very object each time. */
  readonly def: ToolDef;
  readonly trustAnnotations: true;
  validate(name: string, args: JsonObject): Validation;
}

/** The functions of a tool without their types: whoever makes one has checked the arguments by then. */
export type UntypedFunctions = {
  readonly prepareArguments?: ((raw: JsonObject) => JsonObject) | undefined;
  readonly conflictKeys?: ((args: JsonObject) => readonly string[]) | undefined;
  readonly execute: (args: JsonObject, context: ToolContext) => Awaitable<ToolReturn>;
} & ToolHooks;

/** What tells one kind of schema from another. */
export type ToolSchemas = {
  readonly input: JsonObject;
  readonly output?: JsonObject | undefined;
  /** Pure and synchronous. */
  validate(args: JsonObject): Validation;
  readonly checkOutput?: OutputCheck | undefined;
};

/** What a schema says of arguments or of a result, by what is wrong with it. */
export function verdictOf<V>(issues: readonly ValidationIssue[], value: V): Verdict<V> {
  return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
}

type Verdict<V> =
  | { readonly ok: true; readonly value: V }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

/** The provider of one tool. Throws `CompositionError("invalid-schema")` for a definition that JSON cannot hold. */
export function madeTool(described: ToolDescription, functions: UntypedFunctions, schemas: ToolSchemas): DefinedTool {
  const { name } = described;
  const { prepareArguments, conflictKeys, execute } = functions;
  const def = defOf(described, schemas);
  const defs = Object.freeze([def]);
  const hooks = hooksOf(functions);
  return {
    def,
    trustAnnotations: true,
    listTools: () => defs,
    validate: (_name, args) => schemas.validate(args),
    execute: async (call: ToolCall, context) => {
      if (call.name !== name) throw new ToolError("unknown-tool", `no tool ${safeLabel(call.name)} here`);
      if (context.signal.aborted) throw new ToolError("aborted", `${safeLabel(name)} was aborted before it began`);
      const returned = await execute(call.arguments, context);
      return schemas.checkOutput === undefined ? returned : await checkedOutput(name, returned, schemas.checkOutput);
    },
    ...(prepareArguments && { prepareArguments: (_name, raw) => prepareArguments(raw) }),
    ...(hooks && { hooks: () => hooks }),
    ...(conflictKeys && { conflictKeys: (call) => conflictKeys(call.arguments) }),
  };
}

function defOf(described: ToolDescription, { input, output }: ToolSchemas): ToolDef {
  const { name, label, description, executionMode, annotations, metadata, source, timeoutMs } = described;
  const rest = { label, executionMode, annotations, metadata, source, timeoutMs };
  const place = `tool ${safeLabel(name)}`;
  try {
    return adopt({ name, description, inputSchema: input, outputSchema: output, ...rest } as ToolDef, place);
  } catch (cause) {
    throw new CompositionError("invalid-schema", `the definition of ${place} is not JSON: ${thrownLabel(cause)}`, {
      cause,
    });
  }
}

function hooksOf({ beforeExecute, afterExecute }: ToolHooks): ToolHooks | undefined {
  const hooks = { ...(beforeExecute && { beforeExecute }), ...(afterExecute && { afterExecute }) };
  return Object.keys(hooks).length === 0 ? undefined : Object.freeze(hooks);
}
