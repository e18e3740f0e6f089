import type { Json, JsonObject } from "../domain/json.js";
import type { ToolCall, ToolDef, ToolResult } from "../domain/tool.js";
import type { Awaitable } from "./awaitable.js";
import type { MemoryAccess } from "./memory.js";

/** Who asks for the list; without ids outside a turn. */
export type ListContext = {
  readonly signal: AbortSignal;
  readonly sessionId?: string | undefined;
  readonly turnId?: string | undefined;
};

/** What a tool may know and use while it runs. */
export type ToolContext = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly round: number;
  readonly callId: string;
  /** The name the model asked for, whatever a hook made of it. */
  readonly requestedName: string;
  /** The idempotency key: the same for every attempt at this call, unique for ever. */
  readonly executionId: string;
  /** Aborted with the turn; a tool that goes on afterwards changes nothing (U7). */
  readonly signal: AbortSignal;
  readonly memory: MemoryAccess;
  /** Publishes a partial result; ignored once the call has settled. */
  progress(partial: Json): void;
};

/** One thing wrong with arguments: a JSON pointer, and what was expected there. Holds no value from the arguments. */
export type ValidationIssue = { readonly path: string; readonly expected: string };

/** Accepted arguments, or everything that is wrong with them. */
export type Validation =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

/** What a tool's own hook asks for before it runs: other arguments (validated again), or a result instead of running. */
export type BeforeExecute = { readonly args: JsonObject } | { readonly result: ToolResult };

/** A tool's own hooks, innermost of all (H2). One that throws gives its call an error result; none can stop a turn. */
export type ToolHooks = {
  readonly beforeExecute?: (
    input: { readonly args: JsonObject; readonly call: ToolCall },
    context: ToolHookContext,
  ) => Awaitable<BeforeExecute | undefined | void>;
  readonly afterExecute?: (
    input: { readonly args: JsonObject; readonly call: ToolCall; readonly result: ToolResult },
    context: ToolHookContext,
  ) => Awaitable<ToolResult | undefined | void>;
};

/** What a tool's own hook may know. */
export type ToolHookContext = Pick<ToolContext, "sessionId" | "turnId" | "round" | "callId" | "executionId" | "signal">;

/** Anything a tool may return: a result, text, JSON (interfaces included), or nothing. The agent normalises it (U3). */
export type ToolReturn = ToolResult | Json | object | undefined | void;

/**
 * A source of tools. `listTools` may be called concurrently with anything; `execute` is called concurrently for the calls of one
 * wave. A decorator forwards every optional member.
 */
export interface ToolProvider {
  /** Names the provider in errors. */
  readonly name?: string;
  /** A provider that fails to list is left out of the turn instead of failing it (U8). */
  readonly optional?: boolean;
  /** Whether annotations of these tools may be believed; default false, and then a tool counts as destructive and not idempotent. */
  readonly trustAnnotations?: boolean;
  /** The tools as of now, each name once. Throws anything; the agent adds the provider's name. */
  listTools(context: ListContext): Awaitable<readonly ToolDef[]>;
  /**
   * Runs one call with arguments that were validated. `call.arguments` is the tool's own copy. A business failure is a result with
   * `isError`; a runtime failure may reject with anything. Unknown names reject with `ToolError("unknown-tool")`.
   */
  execute(call: ToolCall, context: ToolContext): Awaitable<ToolReturn>;
  /** Mends arguments before defaults and validation; pure; gets its own copy. A throw makes the arguments invalid. */
  prepareArguments?(name: string, raw: JsonObject): JsonObject;
  /** Pure and synchronous. Without it arguments go to the tool unchecked. */
  validate?(name: string, args: JsonObject): Validation;
  /** The tool's own hooks, if it has any. */
  hooks?(name: string): ToolHooks | undefined;
  /** Calls that share a key run in successive waves (U2). */
  conflictKeys?(call: ToolCall): readonly string[];
  /** Calls `listener` whenever the list changed; the agent lists again before the next model call. Returns how to stop. */
  onToolsChanged?(listener: () => void): () => void;
}
