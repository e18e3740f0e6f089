import fc from "fast-check";
import { expect } from "vitest";
import { SessionError } from "../../src/domain/errors.js";
import type { Json } from "../../src/domain/json.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { Compaction, LoadedSession, Session, SessionDelta } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";

/** One step of a random history; `offset` is added to the stored revision and gives the base of the write, undefined gives none. */
export type SessionCommand =
  | { readonly type: "append"; readonly offset: number | undefined; readonly delta: Omit<SessionDelta, "baseRevision"> }
  | {
      readonly type: "save";
      readonly offset: number;
      readonly replace: boolean;
      readonly session: Omit<Session, "revision">;
    }
  | { readonly type: "delete" };

const texts = fc.string({ unit: "binary", maxLength: 4 });
const messages = fc.array(
  texts.map((text): AgentMessage => ({ role: "user", id: text, at: 1, content: [{ type: "text", text }] })),
  { maxLength: 3 },
);
const keys = fc.constantFrom("a", "b", "c", "__proto__", "1", "\ud800");
const metadata = fc
  .array(fc.tuple(keys, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>), { maxLength: 3 })
  // Through JSON text: it has no negative zero, and makes __proto__ an own key.
  .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Session["metadata"]);
const compaction = fc.record({ upTo: texts, messages });
const offset = fc.constantFrom(0, 0, 0, 0, -1, 1);

const append: fc.Arbitrary<SessionCommand> = fc.record({
  type: fc.constant("append" as const),
  offset: fc.option(offset, { nil: undefined, freq: 4 }),
  delta: fc.record(
    {
      operationId: fc.integer({ min: 0, max: 12 }).map((n) => `o${n}`),
      messages,
      metadata,
      unset: fc.array(keys, { maxLength: 2 }),
      compaction,
    },
    { requiredKeys: ["operationId", "messages"] },
  ),
});
const save: fc.Arbitrary<SessionCommand> = fc.record({
  type: fc.constant("save" as const),
  offset,
  replace: fc.boolean(),
  session: fc.record({ messages, metadata, compaction }, { requiredKeys: ["messages", "metadata"] }),
});

/** Histories of up to thirty writes, most of them based on the stored revision. */
export const sessionCommands = fc.array(
  fc.oneof({ weight: 8, arbitrary: append }, { weight: 2, arbitrary: save }, fc.constant({ type: "delete" as const })),
  { maxLength: 30 },
);

type Stored = { messages: AgentMessage[]; metadata: Map<string, Json>; revision: number; compaction?: Compaction };
type Answer = number | "conflict" | "save" | undefined;

/** The rules of a session store written down as simply as they can be, everything copied at each write. */
class ReferenceSession {
  #stored: Stored = { messages: [], metadata: new Map(), revision: 0 };
  #applied = new Map<string, number>();
  readonly #retired: number;
  /** The messages at each revision since the last save. */
  history = new Map<number, AgentMessage[]>([[0, []]]);

  /** `retired`: the highest revision of the deleted sessions before this one. */
  constructor(retired = 0) {
    this.#retired = retired;
  }

  get revision(): number {
    return this.#stored.revision;
  }

  get highest(): number {
    return Math.max(this.revision, this.#retired);
  }

  session(): Session {
    const { metadata, ...rest } = this.#stored;
    // fromEntries defines its keys, __proto__ too.
    return { ...rest, metadata: Object.fromEntries(metadata) };
  }

  append(delta: SessionDelta): Answer {
    const applied = this.#applied.get(delta.operationId);
    if (applied !== undefined) return applied;
    const compared = delta.baseRevision !== undefined;
    if (!compared && (delta.messages.length > 0 || delta.compaction !== undefined)) return "save";
    if (compared && delta.baseRevision !== this.revision) return "conflict";
    const { messages, revision, compaction } = this.#stored;
    const metadata = new Map([...this.#stored.metadata].filter(([key]) => !delta.unset?.includes(key)));
    for (const [key, value] of Object.entries(delta.metadata ?? {})) metadata.set(key, value);
    const next = delta.compaction ?? compaction;
    this.#stored = {
      messages: [...messages, ...delta.messages],
      metadata,
      revision: compared ? this.highest + 1 : revision,
      ...(next && { compaction: next }),
    };
    this.#applied.set(delta.operationId, this.revision);
    this.history.set(this.revision, this.#stored.messages);
    return this.revision;
  }

  save(session: Session, replace: boolean): Answer {
    if (!replace && session.revision !== this.revision) return "conflict";
    const metadata = new Map<string, Json>(Object.entries(session.metadata));
    this.#stored = { ...session, messages: [...session.messages], metadata, revision: this.highest + 1 };
    this.history = new Map([[this.revision, this.#stored.messages]]);
    return this.revision;
  }
}

/** Plays a history on a store and on the reference, and expects the same answers and the same session after each step. */
export async function expectLikeReference(
  store: Required<Pick<SessionStore, "load" | "save" | "append" | "delete">>,
  commands: readonly SessionCommand[],
): Promise<void> {
  let reference = new ReferenceSession();
  const based = (by: number): number => reference.revision + by;
  for (const command of commands) {
    if (command.type === "append") {
      const baseRevision = command.offset === undefined ? undefined : based(command.offset);
      const delta = { ...command.delta, baseRevision };
      expect(await answerOf(store.append("s", delta))).toBe(reference.append(delta));
    } else if (command.type === "save") {
      const session = { ...command.session, revision: based(command.offset) };
      const { replace } = command;
      expect(await answerOf(store.save("s", session, { replace }))).toBe(reference.save(session, replace));
    } else {
      await store.delete("s");
      reference = new ReferenceSession(reference.highest);
    }
    expect(textOf(await store.load("s"))).toBe(textOf(reference.session()));
    for (const [known, seen] of reference.history)
      expectFollowing(await store.load("s", known), seen, reference.session());
  }
}

function expectFollowing({ from = 0, ...part }: LoadedSession, seen: readonly AgentMessage[], whole: Session): void {
  expect(from).toBe(seen.length);
  expect(textOf({ ...part, messages: [...seen.slice(0, from), ...part.messages] })).toBe(textOf(whole));
}

async function answerOf(write: Promise<number>): Promise<Answer> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof SessionError && (error.kind === "conflict" || error.kind === "save")) return error.kind;
    throw error;
  }
}

/** JSON text is exact where matchers are not: `__proto__` keys, and the order of keys. */
function textOf({ messages, metadata, revision, compaction }: Session): string {
  return JSON.stringify([messages, metadata, revision, compaction]);
}
