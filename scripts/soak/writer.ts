import { SessionError } from "../../src/domain/errors.js";
import type { UserMessage } from "../../src/domain/message.js";
import type { Revision } from "../../src/domain/session.js";
import { openStore, type SoakedStore, type StorePlace } from "./store-place.js";

/** A process that writes until it is killed: its operations are numbered, and it goes on with the one its predecessor had no answer to. */
export type WriterTask = {
  readonly role: "writer";
  readonly place: StorePlace;
  readonly name: string;
  readonly next: number;
  readonly sessions: readonly string[];
};

/** The messages of an operation; the middle one may be large, so that its write takes a while. */
export function messagesOf(name: string, number: number): readonly UserMessage[] {
  const length = number % 4 === 0 ? 200_000 : (number * 7_919) % 2_000;
  return ["a", "b", "c"].map((part) => ({
    ...{ role: "user", id: `${name}.${number}.${part}`, at: number },
    content: [{ type: "text", text: part === "b" ? "x".repeat(length) : part }],
  }));
}

/** Writes one operation after the other, each into the next session, and prints session, number and revision of each acknowledged one. */
export async function write({ place, name, next, sessions }: WriterTask): Promise<never> {
  const store = openStore(place);
  const known = new Map<string, Revision>();
  for (let number = next; ; number++) {
    const session = sessions[number % sessions.length] ?? "";
    const operation = { session, name, number };
    const revision = number % 10 === 7 ? await saved(store, operation) : await appended(store, operation, known);
    // What is only buffered here would be lost with the process, and would count as not acknowledged.
    await new Promise<void>(
      (resolve) => void process.stdout.write(`${session} ${number} ${revision}\n`, () => resolve()),
    );
  }
}

type Operation = { readonly session: string; readonly name: string; readonly number: number };

async function appended(
  store: SoakedStore,
  { session, name, number }: Operation,
  known: Map<string, Revision>,
): Promise<Revision> {
  const delta = { operationId: `${name}.${number}`, messages: messagesOf(name, number), metadata: { [name]: number } };
  for (;;) {
    const baseRevision = known.get(session) ?? 0;
    try {
      const revision = await store.append(session, { ...delta, baseRevision });
      known.set(session, revision);
      return revision;
    } catch (error) {
      if (!isConflict(error)) throw error;
      known.set(session, (await store.load(session, baseRevision)).revision);
    }
  }
}

/** A save has no operation id: whether the one before the kill was stored is seen in the session. */
async function saved(store: SoakedStore, { session, name, number }: Operation): Promise<Revision> {
  const added = messagesOf(name, number);
  for (;;) {
    const { messages, metadata, ...loaded } = await store.load(session);
    if (messages.some(({ id }) => id === added[0]?.id)) return loaded.revision;
    try {
      const whole = { ...loaded, messages: [...messages, ...added], metadata: { ...metadata, [name]: number } };
      return await store.save(session, whole);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof SessionError && error.kind === "conflict";
}
