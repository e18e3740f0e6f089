import { AgentError, SessionError } from "../domain/errors.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import type { LoadedSession, Revision, Session, SessionDelta } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import type { SessionStore } from "../ports/session-store.js";
import type { StepScope } from "../ports/step-scope.js";
import type { Conversation, Standing } from "./conversation.js";

/** How long a store may take, and who races it. */
export type StoreBounds = { readonly scope: Pick<StepScope, "bounded">; readonly timeoutMs: number };

/** An append that is compared. */
export type CompareDelta = SessionDelta & { readonly baseRevision: Revision };

/** The stores of an agent as one: the first is the authority, the others are mirrors written after it, in order (S1). Keeps nothing. */
export class Stores {
  readonly #authority: SessionStore;
  readonly #mirrors: readonly SessionStore[];

  constructor(stores: readonly [SessionStore, ...SessionStore[]]) {
    [this.#authority, ...this.#mirrors] = stores;
  }

  get authority(): SessionStore {
    return this.#authority;
  }

  /** Reads from the authority. Rejects with `AgentError("session")`. */
  load(id: string, known: Revision | undefined, bounds: StoreBounds): Promise<LoadedSession> {
    return bounded("load", id, bounds, () => this.#authority.load(id, known));
  }

  /** Replaces a whole session everywhere; compared at the authority unless `replace`. */
  async save(
    id: string,
    session: Session,
    options: { readonly replace: boolean },
    bounds: StoreBounds,
  ): Promise<Revision> {
    const revision = await bounded("save", id, bounds, () => this.#authority.save(id, session, options));
    for (const mirror of this.#mirrors)
      await bounded("save", id, bounds, () => mirror.save(id, session, { replace: true }));
    return revision;
  }

  async delete(id: string, bounds: StoreBounds): Promise<void> {
    for (const store of [this.#authority, ...this.#mirrors]) {
      await bounded("delete", id, bounds, async () => store.delete?.(id));
    }
  }

  /** One compared write to the authority. Rejects with `AgentError("session")`, cause `SessionError`. */
  append(id: string, delta: CompareDelta, bounds: StoreBounds): Promise<Revision> {
    return bounded("append", id, bounds, () => appendTo(this.#authority, id, delta));
  }

  /** The same write to the mirrors, after `conversation` took it; `before` is where the authority stood. */
  async mirror(conversation: Conversation, delta: SessionDelta, before: Standing, bounds: StoreBounds): Promise<void> {
    for (const mirror of this.#mirrors) {
      const write = (): Promise<Revision> => mirrorWrite(mirror, conversation, delta, before);
      conversation.mirrors.set(mirror, await bounded("append to a mirror", conversation.id, bounds, write));
    }
  }
}

/** `append`, or load and compared save for a store without it. */
async function appendTo(store: SessionStore, id: string, delta: CompareDelta): Promise<Revision> {
  if (store.append !== undefined) return store.append(id, delta);
  const stored = await store.load(id);
  if (stored.revision !== delta.baseRevision)
    throw new SessionError("conflict", `${safeLabel(id)} was changed by another writer`);
  const compaction = delta.compaction ?? stored.compaction;
  return store.save(id, {
    messages: [...stored.messages, ...delta.messages],
    metadata: patchMetadata(stored.metadata, delta.metadata, delta.unset),
    revision: stored.revision,
    ...(compaction === undefined ? undefined : { compaction }),
  });
}

/** Appends where the mirror stands where the authority stood; one that is behind or in conflict is replaced once. */
async function mirrorWrite(
  mirror: SessionStore,
  conversation: Conversation,
  delta: SessionDelta,
  before: Standing,
): Promise<Revision> {
  const known = conversation.mirrors.get(mirror) ?? (await revisionIfLevel(mirror, conversation.id, before));
  if (known !== undefined) {
    try {
      return await appendTo(mirror, conversation.id, { ...delta, baseRevision: known });
    } catch (error) {
      if (!(error instanceof SessionError) || error.kind !== "conflict") throw error;
    }
  }
  return mirror.save(conversation.id, wholeOf(conversation), { replace: true });
}

async function revisionIfLevel(mirror: SessionStore, id: string, before: Standing): Promise<Revision | undefined> {
  const loaded = await mirror.load(id);
  const last: AgentMessage | undefined = loaded.messages.at(-1);
  const level = loaded.messages.length === before.count && last?.id === before.last;
  return level ? loaded.revision : undefined;
}

/** A conversation as a session to save. */
export function wholeOf(conversation: Conversation): Session {
  const { metadata, revision, compaction } = conversation;
  return {
    messages: conversation.stored(),
    metadata,
    revision,
    ...(compaction === undefined ? undefined : { compaction }),
  };
}

async function bounded<T>(operation: string, id: string, bounds: StoreBounds, run: () => Promise<T>): Promise<T> {
  const outcome = await bounds.scope.bounded(run, bounds.timeoutMs, { keep: true });
  if (outcome.ok) return outcome.value;
  throw new AgentError("session", `could not ${operation} session ${safeLabel(id)}`, { cause: outcome.error });
}

/** True for a write that lost against another writer. */
export function isConflict(error: unknown): boolean {
  return error instanceof AgentError && error.cause instanceof SessionError && error.cause.kind === "conflict";
}
