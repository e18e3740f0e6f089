import type { JsonObject } from "../../domain/json.js";
import type { ExecutionMode, ToolAnnotations, ToolCall, ToolResult } from "../../domain/tool.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { ToolContext, ToolHookContext } from "../../ports/tool-provider.js";

/** What is told of a tool beside its schemas. */
export type ToolDescription = {
  readonly name: string;
  /** For people; the model sees `name`. */
  readonly label?: string | undefined;
  readonly description: string;
  readonly executionMode?: ExecutionMode | undefined;
  /** Believed: this is the application's own tool. */
  readonly annotations?: ToolAnnotations | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Named when two tools collide. */
  readonly source?: string | undefined;
  readonly timeoutMs?: number | undefined;
};

/** A value of this type that nobody will change: what a function may return that has it by hand. */
export type Unchanging<T> = T extends (...args: never) => unknown
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Unchanging<T[K]> }
    : T;

/** What a tool does. `Args` are arguments that were accepted, `Executed` what is made of them for `execute`, `Returned` what that may return. */
export type ToolFunctions<Args, Returned, Executed = Args> = {
  /** Mends what models send before defaults and validation; pure. */
  readonly prepareArguments?: ((raw: JsonObject) => JsonObject) | undefined;
  /** Calls that share a key never run at the same time (U2). */
  readonly conflictKeys?: ((args: Args) => readonly string[]) | undefined;
  /** Innermost of all hooks: may give other arguments, which are validated again, or a result instead of running (H2). */
  readonly beforeExecute?: (
    input: { readonly args: Args; readonly call: ToolCall },
    context: ToolHookContext,
  ) => Awaitable<{ readonly args: Args } | { readonly result: ToolResult } | undefined | void>;
  /** Gets the normalised result; what it returns stands instead. */
  readonly afterExecute?: (
    input: { readonly args: Args; readonly call: ToolCall; readonly result: ToolResult },
    context: ToolHookContext,
  ) => Awaitable<ToolResult | undefined | void>;
  /** Gets its own copy of valid arguments. A business failure is a result with `isError`; anything thrown becomes one (U3). */
  readonly execute: (args: Executed, context: ToolContext) => Awaitable<Returned>;
};
