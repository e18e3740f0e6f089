import { safeLabel } from "./safe-label.js";
import type { Usage } from "./usage.js";
import type { AssistantPart } from "./message.js";
import type { TurnResult } from "./turn-result.js";

const BRAND = Symbol.for("ennead.error");
const DEFECT = Symbol.for("ennead.defect");

/** What the text of an error may add to its kind. */
export type ErrorOptions = { readonly cause?: unknown };

/** JSON form of an error; causes and payloads are left out, so it is safe to log. */
export type ErrorJson = { readonly name: string; readonly kind: string; readonly message: string };

/** Base of every typed error. `instanceof` and `EnneadError.is` recognise errors of another copy of the package. */
export abstract class EnneadError<K extends string = string> extends Error {
  readonly kind: K;

  constructor(name: string, kind: K, message: string, options: ErrorOptions = {}) {
    super(`${name}(${kind}): ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    define(this, "name", name);
    define(this, BRAND, name);
  }

  /** True for a typed error of any copy of the package. */
  static is(value: unknown): value is EnneadError {
    return isBranded(value, BRAND);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!EnneadError.is(value)) return false;
    if (this === EnneadError) return true;
    const own: unknown = Object.getOwnPropertyDescriptor(this, "brand")?.value;
    if (own === undefined) return Object.prototype.isPrototypeOf.call(this.prototype, value);
    return Reflect.get(value, BRAND) === own;
  }

  toJSON(): ErrorJson {
    return { name: this.name, kind: this.kind, message: this.message };
  }
}

/** Anything may be thrown, a proxy that can no longer be asked included. */
function isBranded(value: unknown, brand: symbol): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return brand in value;
  } catch {
    return false;
  }
}

function define(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: false });
}

/**
 * What went wrong with a model call: `aborted` is the caller's signal, `invalid-request` a request that no repetition makes valid,
 * `response-parse` a reply that arrived and is none.
 */
export type ModelErrorKind =
  | "request-build"
  | "transport"
  | "response-parse"
  | "rate-limit"
  | "auth"
  | "context-overflow"
  | "overloaded"
  | "content-filter"
  | "timeout"
  | "aborted"
  | "invalid-request"
  | "server";

/** What a model call's failure may carry beside its kind. */
export type ModelErrorDetails = ErrorOptions & {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly provider?: string | undefined;
  readonly requestId?: string | undefined;
  readonly usage?: Usage | undefined;
  /** What had been streamed when it failed. */
  readonly partial?: readonly AssistantPart[] | undefined;
  /** The tool a provider refused, where it names one. */
  readonly toolName?: string | undefined;
  readonly retryable?: boolean | undefined;
};

const RETRYABLE: ReadonlySet<ModelErrorKind> = new Set(["transport", "rate-limit", "overloaded", "timeout", "server"]);

/** The only error a model port rejects with. `retryAfterMs` is never negative, and absent where what was given is no time; `retryable` tells whether the same request may succeed later. */
export class ModelError extends EnneadError<ModelErrorKind> {
  static readonly brand = "ModelError";
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly provider: string | undefined;
  readonly requestId: string | undefined;
  readonly usage: Usage | undefined;
  declare readonly partial: readonly AssistantPart[] | undefined;
  readonly toolName: string | undefined;
  readonly retryable: boolean;

  constructor(kind: ModelErrorKind, message: string, details: ModelErrorDetails = {}) {
    super("ModelError", kind, message, details);
    this.status = details.status;
    this.retryAfterMs = timeOf(details.retryAfterMs);
    this.provider = details.provider;
    this.requestId = details.requestId;
    this.usage = details.usage;
    define(this, "partial", details.partial);
    this.toolName = details.toolName;
    this.retryable = details.retryable ?? RETRYABLE.has(kind);
  }
}

function timeOf(ms: number | undefined): number | undefined {
  return typeof ms === "number" && ms >= 0 && ms < Number.POSITIVE_INFINITY ? ms : undefined;
}

/**
 * Why a tool has no result of its own: `unknown-tool` and `invalid-arguments` did not run at all; after `transport`, `timeout` and `aborted` nobody knows
 * whether its effect happened, and the outcome of the call is `unknown` (U7).
 */
export type ToolErrorKind =
  | "unknown-tool"
  | "invalid-arguments"
  | "invocation-failed"
  | "transport"
  | "timeout"
  | "aborted";

/** A tool that could not be run to its end; the model gets an error result. */
export class ToolError extends EnneadError<ToolErrorKind> {
  static readonly brand = "ToolError";
  constructor(kind: ToolErrorKind, message: string, options: ErrorOptions = {}) {
    super("ToolError", kind, message, options);
  }
}

/** `conflict`: somebody else wrote first, and nothing was stored. `corrupt`: what is stored cannot be read, and is left as it is. */
export type SessionErrorKind = "load" | "save" | "conflict" | "corrupt";

/** The only error a session store rejects with. */
export class SessionError extends EnneadError<SessionErrorKind> {
  static readonly brand = "SessionError";
  constructor(kind: SessionErrorKind, message: string, options: ErrorOptions = {}) {
    super("SessionError", kind, message, options);
  }
}

/** The method that failed. */
export type MemoryErrorKind = "store" | "search" | "delete";

/** The only error a memory port rejects with. */
export class MemoryError extends EnneadError<MemoryErrorKind> {
  static readonly brand = "MemoryError";
  constructor(kind: MemoryErrorKind, message: string, options: ErrorOptions = {}) {
    super("MemoryError", kind, message, options);
  }
}

/** Whether the command was run: only `execution-failed` may have had an effect. */
export type CommandErrorKind = "not-found" | "invalid-args" | "execution-failed";

/** A command that could not be run; an outcome the user can mend is a `CommandOutcome` instead. */
export class CommandError extends EnneadError<CommandErrorKind> {
  static readonly brand = "CommandError";
  constructor(kind: CommandErrorKind, message: string, options: ErrorOptions = {}) {
    super("CommandError", kind, message, options);
  }
}

/** Which rule of composition was broken; each is a mistake in the program, and no retry helps. */
export type CompositionErrorKind =
  | "tool-collision"
  | "empty-port"
  | "duplicate-id"
  | "hook-order"
  | "invalid-config"
  | "invalid-schema"
  | "hidden-port";

/** Parts that do not fit together; found before the first turn, or when a tool list changes. */
export class CompositionError extends EnneadError<CompositionErrorKind> {
  static readonly brand = "CompositionError";
  constructor(kind: CompositionErrorKind, message: string, options: ErrorOptions = {}) {
    super("CompositionError", kind, message, options);
  }
}

/** Which part ended the turn; for `model` and `session` the cause is the typed error. `invalid-input` and `shut-down` come before anything is stored. */
export type AgentErrorKind =
  | "model"
  | "session"
  | "runtime"
  | "tool-loop-exceeded"
  | "budget-exceeded"
  | "output-limit"
  | "hook-aborted"
  | "nothing-to-resume"
  | "invalid-input"
  | "shut-down";

/** What an agent's failure may carry beside its kind. */
export type AgentErrorDetails = ErrorOptions & {
  readonly partial?: TurnResult | undefined;
  readonly limit?: string | undefined;
};

/**
 * Why a turn did not end in a `TurnResult`. `partial` holds all that happened; it is not enumerable and not in `toJSON`. `limit` names what
 * `budget-exceeded` and `tool-loop-exceeded` ran into, by the name it has in the configuration or the budget; for `output-limit` it is `messages`,
 * `bytes` or `encoding`.
 */
export class AgentError extends EnneadError<AgentErrorKind> {
  static readonly brand = "AgentError";
  declare readonly partial: TurnResult | undefined;
  readonly limit: string | undefined;
  constructor(kind: AgentErrorKind, message: string, options: AgentErrorDetails = {}) {
    super("AgentError", kind, message, options);
    define(this, "partial", options.partial);
    this.limit = options.limit;
  }

  /** Adds what the turn did until it failed. */
  withPartial(partial: TurnResult): this {
    define(this, "partial", partial);
    return this;
  }
}

/** A programming mistake, such as a test script that ran out. The loop rethrows it unchanged from any port (T5). */
export class Defect extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    define(this, "name", "Defect");
    define(this, DEFECT, true);
  }

  /** True for a defect of any copy of the package. */
  static is(value: unknown): value is Defect {
    return isBranded(value, DEFECT);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return Defect.is(value) && (this === Defect || Object.prototype.isPrototypeOf.call(this.prototype, value));
  }
}

/** `Class(kind)` of a typed error, else the class name: safe for events and logs, since it holds no text from outside. Never throws. */
export function errorCategory(error: unknown): string {
  try {
    if (EnneadError.is(error)) return `${error.name}(${error.kind})`;
    return error instanceof Error ? className(error) : typeof error;
  } catch {
    return typeof error;
  }
}

function className(error: Error): string {
  const name: unknown = (error.constructor as { readonly name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" ? safeLabel(name) : "Error";
}
