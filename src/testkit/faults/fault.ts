import {
  CommandError,
  type EnneadError,
  MemoryError,
  ModelError,
  SessionError,
  ToolError,
} from "../../domain/errors.js";
import type { CommandPort } from "../../ports/command.js";
import type { Compressor } from "../../ports/compressor.js";
import type { PipelineHook } from "../../ports/hook.js";
import type { Lifecycle } from "../../ports/lifecycle.js";
import type { MemoryPort } from "../../ports/memory.js";
import type { ModelPort } from "../../ports/model.js";
import type { Observer } from "../../ports/observer.js";
import type { Runtime } from "../../ports/runtime.js";
import type { SessionStore } from "../../ports/session-store.js";
import type { ToolProvider } from "../../ports/tool-provider.js";

/** Any of the nine ports. */
export type AnyPort =
  | ModelPort
  | ToolProvider
  | SessionStore
  | Observer
  | Compressor
  | PipelineHook
  | MemoryPort
  | Lifecycle
  | CommandPort;

/** What becomes of a call. */
export type Fault =
  | { readonly kind: "fails"; readonly error: unknown }
  | { readonly kind: "loses-answer"; readonly error: unknown }
  | { readonly kind: "hangs" }
  | { readonly kind: "late"; readonly ms: number; readonly runtime: Pick<Runtime, "after"> };

const OWN_ERROR: unique symbol = Symbol("the error of the port");

/** The faults of a plan. Where no error is given, it is the typed error of the port. */
export const fault = {
  /** Rejects at once, and the call never reaches the port. A method that is synchronous throws. */
  fails(error: unknown = OWN_ERROR): Fault {
    return { kind: "fails", error };
  },
  /** The call takes effect, then rejects: the answer was lost. */
  losesAnswer(error: unknown = OWN_ERROR): Fault {
    return { kind: "loses-answer", error };
  },
  /** Never reaches the port; rejects when the signal it was given is aborted, and waits for ever where it was given none. */
  hangs(): Fault {
    return { kind: "hangs" };
  },
  /** The call takes effect at once; its answer, or error, comes `ms` of the runtime's time later, whatever is aborted meanwhile. */
  late(runtime: Pick<Runtime, "after">, ms: number): Fault {
    return { kind: "late", ms, runtime };
  },
};

const ERRORS: Readonly<Record<string, () => EnneadError>> = {
  chat: () => new ModelError("transport", SCRIPTED()),
  chatStreaming: () => new ModelError("transport", SCRIPTED()),
  listTools: () => new ToolError("transport", SCRIPTED()),
  execute: () => new ToolError("invocation-failed", SCRIPTED()),
  load: () => new SessionError("load", SCRIPTED()),
  save: () => new SessionError("save", SCRIPTED()),
  append: () => new SessionError("save", SCRIPTED()),
  list: () => new SessionError("load", SCRIPTED()),
  store: () => new MemoryError("store", SCRIPTED()),
  search: () => new MemoryError("search", SCRIPTED()),
  invoke: () => new CommandError("execution-failed", SCRIPTED()),
};

const SCRIPTED = (): string => "scripted failure";

/** The error a fault was given, else the one its port rejects with. */
export function errorOf(error: unknown, port: object, method: string): unknown {
  if (error !== OWN_ERROR) return error;
  if (method === "delete") return deleteError(port);
  return ERRORS[method]?.() ?? new Error(`${method}: ${SCRIPTED()}`);
}

/** What the port rejects with where its caller gave up. */
export function abortedError(method: string, signal: AbortSignal): unknown {
  if (method === "chat" || method === "chatStreaming") return new ModelError("aborted", "the signal was aborted");
  if (method === "listTools" || method === "execute") return new ToolError("aborted", "the signal was aborted");
  return signal.reason;
}

function deleteError(port: object): EnneadError {
  return "search" in port ? new MemoryError("delete", SCRIPTED()) : new SessionError("save", SCRIPTED());
}

/** Methods whose callers do not wait. */
export const SYNCHRONOUS: ReadonlySet<string> = new Set([
  "onEvent",
  "describe",
  "commands",
  "validate",
  "prepareArguments",
  "hooks",
  "conflictKeys",
  "onToolsChanged",
]);
