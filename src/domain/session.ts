import type { JsonObject } from "./json.js";
import type { AgentMessage } from "./message.js";
import type { Usage } from "./usage.js";

/** Grows with every compared write; 0 for a session that does not exist. */
export type Revision = number;

/** In requests `messages` stand for everything up to and including the message `upTo`; the originals stay stored. */
export type Compaction = { readonly upTo: string; readonly messages: readonly AgentMessage[] };

/** A stored conversation. `metadata` keys other than the framework's (`SESSION_KEYS`) belong to the user. */
export type Session = {
  readonly messages: readonly AgentMessage[];
  readonly metadata: JsonObject;
  readonly revision: Revision;
  readonly compaction?: Compaction;
};

/** `from` is the index of the first message in `messages`; absent or 0, `messages` is the whole list. Metadata and compaction are always whole. */
export type LoadedSession = Session & { readonly from?: number };

/** Additions to the end of a session. With `baseRevision` it is compared and raises the revision by one; without, it may carry metadata only and leaves the revision. */
export type SessionDelta = {
  /** Unique per write: a second append under the same id changes nothing and answers the revision the first one made. */
  readonly operationId: string;
  readonly baseRevision?: Revision | undefined;
  readonly messages: readonly AgentMessage[];
  /** Keys to set; keys not named stay. */
  readonly metadata?: JsonObject | undefined;
  /** Keys to remove. */
  readonly unset?: readonly string[] | undefined;
  readonly compaction?: Compaction | undefined;
};

/** How a whole session is written; `replace` skips the comparison of revisions. */
export type SaveOptions = { readonly replace?: boolean | undefined };

/** One line of a session list; `updatedAt` is epoch milliseconds by the store's clock. */
export type SessionInfo = {
  readonly id: string;
  readonly revision: Revision;
  readonly count: number;
  readonly metadata: JsonObject;
  readonly updatedAt: number;
};

/** Newest first. `cursor` continues a list where the last page ended; `metadata` keeps sessions whose keys equal these. */
export type SessionQuery = {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly metadata?: JsonObject | undefined;
};

/** A page of sessions; no `cursor` on the last one. */
export type SessionPage = { readonly items: readonly SessionInfo[]; readonly cursor?: string };

/** The metadata keys the framework owns. */
export const SESSION_KEYS = {
  parent: "parent_session_id",
  /** The lease of S2, `{turnId, until}`: who owns the session, and until when by the owner's clock, which is never compared with another's. */
  turn: "ennead.turn",
  deferred: "ennead.deferred",
  /** By execution id, the names of the hooks that deferred a pending call: those a decision is for. */
  deferredBy: "ennead.deferred_by",
  redirectedTo: "ennead.redirected_to",
  usage: "ennead.usage",
} as const;

/** A call that waits for a decision. */
export type DeferredCall = {
  readonly callId: string;
  readonly executionId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly reason: string;
  readonly at: number;
};

/** What a session and its last turn have used. */
export type UsageRecord = {
  readonly session: Usage;
  readonly turn: {
    readonly turnId: string;
    readonly usage: Usage;
    readonly modelCalls: number;
    readonly toolCalls: number;
    readonly cost?: number;
  };
  /** What estimates of this session are multiplied by, once its provider reported what requests took. */
  readonly correction?: number;
};

/** What `load` answers for an id nobody has written. */
export function emptySession(): Session {
  return { messages: [], metadata: {}, revision: 0 };
}
