import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../domain/json.js";
import type { ExecutionMode, ToolAnnotations, ToolCall, ToolResult } from "../../domain/tool.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { ToolContext, ToolHookContext, ToolReturn } from "../../ports/tool-provider.js";

/** What `execute` may return: with an `output` schema its type or a whole result, else anything at all (U3). */
export type ToolOutput<O extends TSchema | undefined> = O extends TSchema ? Static<O> | ToolResult : ToolReturn;

/** A tool as an application writes it. The types of all functions follow from `parameters` and `output`. */
export type ToolDefinition<P extends TObject, O extends TSchema | undefined = undefined> = {
  readonly name: string;
  /** For people; the model sees `name`. */
  readonly label?: string | undefined;
  readonly description: string;
  /** Defaults are applied before validation, so a property with a default is always there. */
  readonly parameters: P;
  /** Told to whoever reads the definition; the type of `execute` follows from it, values are not checked against it. */
  readonly output?: O;
  readonly executionMode?: ExecutionMode | undefined;
  /** Believed: this is the application's own tool. */
  readonly annotations?: ToolAnnotations | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Named when two tools collide. */
  readonly source?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** Mends what models send before defaults and validation; pure. */
  readonly prepareArguments?: ((raw: JsonObject) => JsonObject) | undefined;
  /** Calls that share a key never run at the same time (U2). */
  readonly conflictKeys?: ((args: Static<P>) => readonly string[]) | undefined;
  /** Innermost of all hooks: may give other arguments, which are validated again, or a result instead of running (H2). */
  readonly beforeExecute?: (
    input: { readonly args: Static<P>; readonly call: ToolCall },
    context: ToolHookContext,
  ) => Awaitable<{ readonly args: Static<P> } | { readonly result: ToolResult } | undefined | void>;
  /** Gets the normalised result; what it returns stands instead. */
  readonly afterExecute?: (
    input: { readonly args: Static<P>; readonly call: ToolCall; readonly result: ToolResult },
    context: ToolHookContext,
  ) => Awaitable<ToolResult | undefined | void>;
  /** Gets its own copy of valid arguments. A business failure is a result with `isError`; anything thrown becomes one (U3). */
  readonly execute: (args: Static<P>, context: ToolContext) => Awaitable<ToolOutput<O>>;
};
