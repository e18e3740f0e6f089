import type { LoadedSession, Revision } from "../../src/domain/session.js";
import type { SoakedStore } from "./store-place.js";
import { messagesOf } from "./writer.js";

/** An operation that a writer was told is stored. */
export type Acknowledged = {
  readonly name: string;
  readonly session: string;
  readonly number: number;
  readonly revision: Revision;
};

/** What is wrong with sessions, and what was stored without an answer. */
export type Found = { readonly unanswered: number; readonly messages: number; readonly faults: readonly string[] };

/** Compares a session with what its writers were told, and writes to it once more. */
export async function checkSession(
  store: SoakedStore,
  id: string,
  acknowledged: readonly Acknowledged[],
): Promise<Found> {
  const faults: string[] = [];
  let session: LoadedSession;
  try {
    session = await store.load(id);
  } catch (error) {
    return { unanswered: 0, messages: 0, faults: [`${id} cannot be loaded: ${String(error)}`] };
  }
  const stored = operationsIn(session, faults);
  const places = new Map(stored.map((operation, place) => [operation, place]));
  if (places.size !== stored.length) faults.push(`${id} holds an operation twice`);
  for (const { name, number, revision } of acknowledged) {
    const operation = `${name}.${number}`;
    if (!places.has(operation)) faults.push(`${id} has lost ${operation}, acknowledged as revision ${revision}`);
  }
  const inOrder = [...acknowledged].sort((a, b) => a.revision - b.revision);
  const order = inOrder.map(({ name, number }) => places.get(`${name}.${number}`) ?? -1);
  if (order.some((place, n) => n > 0 && place <= (order[n - 1] ?? -1)))
    faults.push(`${id} is not in the order of revisions`);
  const known = new Set(acknowledged.map(({ name, number }) => `${name}.${number}`));
  const unanswered = stored.filter((operation) => !known.has(operation));
  // Each writer's last operation may be one whose answer it did not live to get.
  const writers = new Set(unanswered.map((operation) => operation.split(".")[0]));
  if (writers.size !== unanswered.length) faults.push(`${id} holds what nobody was told of: ${unanswered.join(" ")}`);
  if (session.revision !== stored.length)
    faults.push(`${id} has revision ${session.revision} after ${stored.length} writes`);
  checkMetadata(id, session, stored, faults);
  await checkUsable(store, id, session, faults);
  return { unanswered: unanswered.length, messages: session.messages.length, faults };
}

/** The operations of a session in their order; one that is not whole is a fault. */
function operationsIn({ messages }: LoadedSession, faults: string[]): string[] {
  const operations: string[] = [];
  for (let at = 0; at < messages.length; at += 3) {
    const [, name = "", number = ""] = /^(\w+)\.(\d+)\.a$/.exec(messages[at]?.id ?? "") ?? [];
    const whole = JSON.stringify(messagesOf(name, Number(number)));
    if (JSON.stringify(messages.slice(at, at + 3)) !== whole)
      faults.push(`message ${at} does not begin a whole operation`);
    operations.push(`${name}.${number}`);
  }
  return operations;
}

function checkMetadata(id: string, { metadata }: LoadedSession, stored: readonly string[], faults: string[]): void {
  const last = new Map(stored.map((operation) => operation.split(".") as [string, string]));
  for (const [name, number] of last) {
    if (metadata[name] !== Number(number)) faults.push(`${id} has not the metadata of ${name}.${number}`);
  }
}

async function checkUsable(
  store: SoakedStore,
  id: string,
  { revision, messages }: LoadedSession,
  faults: string[],
): Promise<void> {
  const next = await store.append(id, {
    operationId: "checked",
    baseRevision: revision,
    messages: messagesOf("check", 1),
  });
  const { from = 0, messages: added } = await store.load(id, revision);
  if (next !== revision + 1 || from + added.length !== messages.length + 3) faults.push(`${id} cannot be written to`);
}
