import { isJsonObject, type JsonObject } from "./json.js";
import { type DeferredCall, SESSION_KEYS } from "./session.js";
import type { OpenCall } from "./transcript.js";

/** The calls of a stored session without a result, and what it says of them. */
export type StoredCalls = { readonly metadata: JsonObject; readonly openCalls: readonly OpenCall[] };

/** Whether a call without a result may have had its effect; calls that were cut or malformed never run (L6, U1). */
export function mayHaveRun({ message, call }: OpenCall): boolean {
  return message.finishReason !== "length" && call.malformed === undefined;
}

/**
 * The calls that wait for a decision: recorded, and without a result in the last reply that has such calls. What is no record is passed
 * over, since anybody may have written it; of two about one call the first counts.
 */
export function pendingCalls({ metadata, openCalls }: StoredCalls): DeferredCall[] {
  const stored = metadata[SESSION_KEYS.deferred];
  if (!Array.isArray(stored)) return [];
  const reply = openCalls.at(-1)?.message;
  const open = new Map<string, string>();
  for (const { message, order, call } of openCalls) if (message === reply) open.set(`${message.id}.${order}`, call.id);
  const pending: DeferredCall[] = [];
  for (const record of stored as readonly unknown[]) {
    if (!isRecord(record) || open.get(record.executionId) !== record.callId) continue;
    open.delete(record.executionId);
    pending.push(record);
  }
  return pending;
}

function isRecord(record: unknown): record is DeferredCall {
  if (!isJsonObject(record)) return false;
  const { callId, executionId, toolName, reason, arguments: args, at } = record;
  const texts = [callId, executionId, toolName, reason];
  return texts.every((text) => typeof text === "string") && isJsonObject(args) && typeof at === "number";
}

/** By execution id, the names of the hooks that deferred a call. */
export type DeferringHooks = ReadonlyMap<string, readonly string[]>;

/** What a session says about who deferred its pending calls; what is no such note is passed over. */
export function deferringHooks(metadata: JsonObject): DeferringHooks {
  const stored = metadata[SESSION_KEYS.deferredBy];
  const hooks = new Map<string, readonly string[]>();
  for (const [executionId, names] of Object.entries(isJsonObject(stored) ? stored : {})) {
    if (Array.isArray(names) && names.every((name) => typeof name === "string")) hooks.set(executionId, names);
  }
  return hooks;
}

/** The change of metadata that makes just these calls the pending ones. */
export function pendingRecord(
  pending: readonly DeferredCall[],
  hooks: DeferringHooks,
): { readonly metadata: JsonObject } | { readonly unset: readonly string[] } {
  if (pending.length === 0) return { unset: [SESSION_KEYS.deferred, SESSION_KEYS.deferredBy] };
  const noted = pending.flatMap(({ executionId }) => {
    const names = hooks.get(executionId);
    return names === undefined ? [] : [[executionId, names] as const];
  });
  return {
    metadata: { [SESSION_KEYS.deferred]: [...pending], [SESSION_KEYS.deferredBy]: Object.fromEntries(noted) },
  };
}
