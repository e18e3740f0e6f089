import { AgentError } from "./errors.js";
import type { JsonObject } from "./json.js";

/** A person's or program's decision about a deferred call. Without `arguments` the call runs as it was deferred. */
export type Decision =
  | { readonly callId: string; readonly approve: true; readonly arguments?: JsonObject | undefined }
  | { readonly callId: string; readonly approve: false; readonly reason: string };

/** What a caller is told whose decision cannot be taken: which one in the list, and why. */
export function refusedDecision(index: number, what: string, cause?: unknown): AgentError {
  return new AgentError("invalid-input", `decisions[${index}]: ${what}`, { cause });
}
