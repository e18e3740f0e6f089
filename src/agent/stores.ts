import { AgentError, Defect, SessionError } from "../domain/errors.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import type { LoadedSession, Revision, Session, SessionDelta } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import type { SessionStore } from "../ports/session-store.js";
import { Conversation, type Standing } from "./conversation.js";
import { loadedSession, writtenRevision } from "./store-answers.js";

/** An append that is compared. */
export type CompareDelta = SessionDelta & { readonly baseRevision: Revision };

/** A write that the authority took: where the session stood before it, and all of it afterwards. */
type MirrorWrite = { readonly delta: SessionDelta; readonly before: Standing; readonly whole: () => Session };

/** The stores of an agent as one, unbounded in time: the first is the authority, the others are mirrors written after it, in order (S1). Keeps nothing. */
export class Stores {
  readonly #authority: SessionStore;
  readonly #mirrors: readonly SessionStore[];

  constructor(stores: readonly [SessionStore, ...SessionStore[]]) {
    [this.#authority, ...this.#mirrors] = stores;
  }

  get authority(): SessionStore {
    return this.#authority;
  }

  /** Reads from the authority. Rejects with what the store rejects with, and with `SessionError("corrupt")` for an answer that is no session. */
  async load(id: string, known: Revision | undefined): Promise<LoadedSession> {
    return loadedSession(await this.#authority.load(id, known), known);
  }

  /** Replaces a whole session everywhere; compared at the authority unless `replace`. */
  async save(id: string, session: Session, options: { readonly replace: boolean }): Promise<Revision> {
    const revision = await named("save", id, () => saveIn(this.#authority, id, session, options));
    for (const mirror of this.#mirrors) await named("save", id, () => saveIn(mirror, id, session, { replace: true }));
    return revision;
  }

  /** Whether every store can delete. */
  get canDelete(): boolean {
    return [this.#authority, ...this.#mirrors].every((store) => store.delete !== undefined);
  }

  async delete(id: string): Promise<void> {
    for (const store of [this.#authority, ...this.#mirrors]) {
      await named("delete", id, async () => store.delete?.(id));
    }
  }

  /**
   * One compared write, to the authority and then to the mirrors; answers the authority's revision. `before` is where the session
   * stood when the delta's messages are in `conversation` already; `conversation` itself is brought up to date by the caller.
   */
  write(conversation: Conversation, delta: CompareDelta, before?: Standing): Promise<Revision> {
    const stored = appendTo(this.#authority, conversation.id, delta);
    return this.#mirrors.length === 0 ? stored : this.#mirrored(stored, conversation, delta, before);
  }

  /** The same for a session that was read whole. */
  async add(id: string, session: Session, delta: CompareDelta): Promise<void> {
    const conversation = new Conversation(id);
    conversation.take(session);
    await this.write(conversation, delta);
  }

  async #mirrored(
    stored: Promise<Revision>,
    conversation: Conversation,
    delta: CompareDelta,
    before: Standing | undefined,
  ): Promise<Revision> {
    const revision = await stored;
    const rest = before === undefined ? delta : { ...delta, messages: [] };
    const write = { delta, before: before ?? conversation.standing(), whole: () => conversation.after(rest, revision) };
    for (const mirror of this.#mirrors) {
      const made = await named("append to a mirror of", conversation.id, () =>
        mirrorWrite(mirror, conversation, write),
      );
      conversation.mirrors = new Map(conversation.mirrors).set(mirror, made);
    }
    return revision;
  }
}

/** `append`, or load and compared save for a store without it. Each store gets a list and an object of its own, which it may keep and change. */
function appendTo(store: SessionStore, id: string, delta: CompareDelta): Promise<Revision> {
  const { messages, metadata } = delta;
  const own = { ...delta, messages: [...messages], ...(metadata && { metadata: { ...metadata } }) };
  if (store.append === undefined) return saveTo(store, id, own);
  return Promise.resolve(store.append(id, own)).then(writtenRevision);
}

async function saveIn(
  store: SessionStore,
  id: string,
  session: Session,
  options?: { readonly replace: boolean },
): Promise<Revision> {
  return writtenRevision(await store.save(id, session, options));
}

async function saveTo(store: SessionStore, id: string, delta: CompareDelta): Promise<Revision> {
  const stored = loadedSession(await store.load(id), undefined);
  if (stored.revision !== delta.baseRevision)
    throw new SessionError("conflict", `${safeLabel(id)} was changed by another writer`);
  const compaction = delta.compaction ?? stored.compaction;
  return saveIn(store, id, {
    ...stored,
    messages: [...stored.messages, ...delta.messages],
    metadata: patchMetadata(stored.metadata, delta.metadata, delta.unset),
    revision: stored.revision,
    ...(compaction === undefined ? undefined : { compaction }),
  });
}

/** Appends where the mirror stands where the authority stood; one that is behind or in conflict is replaced once. */
async function mirrorWrite(mirror: SessionStore, conversation: Conversation, write: MirrorWrite): Promise<Revision> {
  const { id, mirrors } = conversation;
  const known = mirrors.get(mirror) ?? (await revisionIfLevel(mirror, id, write.before));
  if (known !== undefined) {
    try {
      return await appendTo(mirror, id, { ...write.delta, baseRevision: known });
    } catch (error) {
      if (!(error instanceof SessionError) || error.kind !== "conflict") throw error;
    }
  }
  try {
    return await saveIn(mirror, id, write.whole(), { replace: true });
  } catch (cause) {
    // The authority has the write: whoever took this for a lost one would make it again.
    if (isStoreConflict(cause)) throw new SessionError("save", "the mirror refuses to be replaced", { cause });
    throw cause;
  }
}

async function revisionIfLevel(mirror: SessionStore, id: string, before: Standing): Promise<Revision | undefined> {
  const loaded = loadedSession(await mirror.load(id), undefined);
  const last: AgentMessage | undefined = loaded.messages.at(-1);
  const level = loaded.messages.length === before.count && last?.id === before.last;
  return level ? loaded.revision : undefined;
}

/** Runs one call of a store; whatever it rejects with becomes the cause of an `AgentError` that names operation and session. */
async function named<T>(operation: string, id: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storeError(operation, id, error);
  }
}

/** What a call of a store is reported as. */
export function storeError(operation: string, id: string, cause: unknown): unknown {
  if (Defect.is(cause) || cause instanceof AgentError) return cause;
  return new AgentError("session", `could not ${operation} session ${safeLabel(id)}`, { cause });
}

/** True for a write that lost against another writer. */
export function isConflict(error: unknown): boolean {
  return error instanceof AgentError && isStoreConflict(error.cause);
}

/** The same as the authority tells it. */
export function isStoreConflict(error: unknown): boolean {
  return error instanceof SessionError && error.kind === "conflict";
}
