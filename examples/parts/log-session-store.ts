import {
  type AgentMessage,
  applyAppend,
  applySave,
  type Compaction,
  emptySession,
  type JsonObject,
  type LoadedSession,
  patchMetadata,
  type SaveOptions,
  type Session,
  type SessionDelta,
  type SessionStore,
  storable,
} from "ennead";

// #region rows
/** What a database would keep: a row a session, a row a message with the revision that added it, a row an operation. */
type Rows = {
  readonly revision: number;
  readonly metadata: JsonObject;
  readonly compaction: Compaction | undefined;
  readonly later: object;
  readonly messages: { readonly revision: number; readonly body: string }[];
  readonly operations: Map<string, number>;
};
// #endregion rows

/** Sessions as rows: an append costs what is new, whatever the length of the session. */
export class LogSessionStore implements SessionStore {
  readonly name = "log";
  readonly #sessions = new Map<string, Rows>();

  // #region load
  async load(id: string, known = -1): Promise<LoadedSession> {
    const rows = this.#sessions.get(id);
    if (rows === undefined) return emptySession();
    const { revision, metadata, compaction, later, messages } = rows;
    // A reader of a revision has every message up to it; of one that is not ours it has nothing we know of.
    const from = known <= revision ? messages.findLastIndex((message) => message.revision <= known) + 1 : 0;
    const bodies = messages.slice(from).map(({ body }) => JSON.parse(body) as AgentMessage);
    return structuredClone({ ...later, messages: bodies, metadata, revision, ...(compaction && { compaction }), from });
  }
  // #endregion load

  // #region append
  async append(id: string, delta: SessionDelta): Promise<number> {
    const bodies = delta.messages.map((message) => JSON.stringify(storable(message, "message")));
    const patch = delta.metadata && storable(delta.metadata, "metadata");
    const compaction = delta.compaction && storable(delta.compaction, "compaction");
    // From here on it is one transaction: nobody else writes this session between the decision and the rows.
    const rows = this.#sessions.get(id) ?? NO_ROWS();
    const decision = applyAppend(
      id,
      { revision: rows.revision, appliedAs: rows.operations.get(delta.operationId) },
      delta,
    );
    if (decision.type === "refuse") throw decision.error;
    const { revision } = decision;
    if (decision.type === "applied") return revision;
    for (const body of bodies) rows.messages.push({ revision, body });
    rows.operations.set(delta.operationId, revision);
    const metadata = patchMetadata(rows.metadata, patch, delta.unset);
    this.#sessions.set(id, { ...rows, revision, metadata, compaction: compaction ?? rows.compaction });
    return revision;
  }
  // #endregion append

  // #region save
  async save(id: string, session: Session, options?: SaveOptions): Promise<number> {
    const before = this.#sessions.get(id) ?? NO_ROWS();
    const decision = applySave(id, before, session, options);
    if (decision.type === "refuse") throw decision.error;
    const { revision } = decision;
    const { messages, metadata, compaction, revision: _revision, ...later } = storable(session, "session");
    const rows = messages.map((message) => ({ revision, body: JSON.stringify(message) }));
    // The operations stay: a write that was repeated after a save is still the same write.
    this.#sessions.set(id, { ...before, revision, metadata, compaction, later, messages: rows });
    return revision;
  }
  // #endregion save
}

const NO_ROWS = (): Rows => ({
  revision: 0,
  metadata: {},
  compaction: undefined,
  later: {},
  messages: [],
  operations: new Map(),
});
