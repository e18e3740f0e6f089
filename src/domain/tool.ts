import type { Content, ContentInput } from "./content.js";
import type { Json, JsonObject } from "./json.js";

/** MCP hint names. They count only from providers with `trustAnnotations`. */
export type ToolAnnotations = {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
};

/** `"parallel"` calls that stand side by side run in one wave; a `"sequential"` one runs alone (U2). */
export type ExecutionMode = "parallel" | "sequential";

/** What a model is told of a tool. JSON only: functions travel beside it on the provider. */
export type ToolDef = {
  readonly name: string;
  /** For people; the model sees `name`. */
  readonly label?: string | undefined;
  readonly description: string;
  /** A JSON Schema whose `type` is `"object"`. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  /** Default `"parallel"`. */
  readonly executionMode?: ExecutionMode | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Where the tool comes from; named when two tools collide. */
  readonly source?: string | undefined;
  /** Milliseconds one call may take, above 0; default `config.toolTimeoutMs` (U7). */
  readonly timeoutMs?: number | undefined;
};

/** Streamed arguments that were no JSON object; such a call is never executed. */
export type MalformedArguments = { readonly raw: string; readonly reason: string };

/** A call the model asked for. `arguments` is `{}` when `malformed` is set. */
export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments' own text, kept only where encoding `arguments` again would not give the same value. */
  readonly raw?: string;
  readonly malformed?: MalformedArguments;
};

/** The outcome of a tool as the tool tells it. A business failure is `isError: true`, a runtime failure is thrown. */
export type ToolResult = {
  readonly content: readonly Content[];
  /** Goes to the model only where `content` is empty. */
  readonly structured?: Json | undefined;
  /** For the application; never sent to the model. */
  readonly details?: Json | undefined;
  readonly isError: boolean;
  /** True on every result of a batch ends the turn after it (U6). */
  readonly terminate?: boolean | undefined;
};

/** What is known of the real invocation, whatever a hook later made of its result. `unknown`: it started, and nobody knows whether its effect happened. */
export type ToolOutcome = "not-started" | "completed" | "failed" | "unknown";

/** What is admitted to run; immutable from then on. */
export type ToolInvocation = {
  /** `<id of the assistant message>.<order>`: unique for ever, the idempotency key. */
  readonly executionId: string;
  readonly sourceOrder: number;
  readonly callId: string;
  readonly toolName: string;
  /** The arguments as the model gave them. */
  readonly originalInput: JsonObject;
  /** The arguments after defaults, validation and hooks. */
  readonly executedInput: JsonObject;
  readonly executionMode: ExecutionMode;
};

/** One call with everything that became of it; `executedInput` and `startedAt` are absent when it never started. Times are epoch milliseconds. */
export type ToolExchange = Omit<ToolInvocation, "executedInput"> & {
  readonly executedInput?: JsonObject;
  readonly call: ToolCall;
  readonly outcome: ToolOutcome;
  /** True when an abort or a timeout asked the running tool to stop. */
  readonly cancellationRequested: boolean;
  readonly result: ToolResult;
  readonly startedAt?: number;
  readonly endedAt?: number;
};

/** Optional parts of a result beside its content. */
export type ResultExtras = {
  readonly structured?: Json | undefined;
  readonly details?: Json | undefined;
  readonly terminate?: boolean | undefined;
};

/** A successful result. */
export function okResult(content: ContentInput, extras: ResultExtras = {}): ToolResult {
  return result(content, false, extras);
}

/** A failure the model is told about and may react to. */
export function errorResult(content: ContentInput, extras: ResultExtras = {}): ToolResult {
  return result(content, true, extras);
}

function result(content: ContentInput, isError: boolean, extras: ResultExtras): ToolResult {
  return {
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    isError,
    ...(extras.structured === undefined ? undefined : { structured: extras.structured }),
    ...(extras.details === undefined ? undefined : { details: extras.details }),
    ...(extras.terminate === undefined ? undefined : { terminate: extras.terminate }),
  };
}
