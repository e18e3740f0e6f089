import { CompositionError, SessionError, type SessionErrorKind } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { LoadedSession, Revision, SaveOptions, Session } from "../../domain/session.js";
import type { SessionDelta, SessionPage, SessionQuery } from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { type RedisClient, RedisConnection } from "./redis-connection.js";
import { RedisSessions } from "./redis-session.js";
import { encodeDelta, encodeSession } from "./session-text.js";
import { StoreCalls } from "../databases/store-calls.js";
import { timeoutOf } from "../databases/within.js";

/**
 * Either the `url` of a server, or a `client` of `ioredis`, which stays the caller's. Every key begins with `prefix`, `{ennead}:` by
 * default: a cluster keeps keys with one tag in braces together, without which no script could use them. `timeoutMs` bounds each call on the
 * network, 10,000 by default.
 */
export type RedisSessionStoreOptions = ({ readonly url: string } | { readonly client: RedisClient }) & {
  readonly prefix?: string | undefined;
  readonly timeoutMs?: number | undefined;
};

export type { RedisClient } from "./redis-connection.js";

/**
 * Sessions in Redis, which any number of processes may use at once: each write is one script. An acknowledged write is as durable as the
 * server is set up to be. One that failed with the connection may have taken place, and an append repeated under its operation id then
 * tells. Whoever made the store closes it.
 */
export class RedisSessionStore implements SessionStore {
  readonly name: string;
  readonly #connection: RedisConnection;
  readonly #sessions: RedisSessions;
  readonly #calls: StoreCalls<SessionErrorKind>;

  /** Throws `CompositionError("invalid-config")` for options that name no server, no prefix or no duration. */
  constructor(options: RedisSessionStoreOptions) {
    const { source, prefix, timeoutMs } = checked(options);
    this.name = `redis "${safeLabel(prefix)}"`;
    this.#connection = new RedisConnection(source, timeoutMs);
    this.#sessions = new RedisSessions(this.#connection, prefix);
    this.#calls = new StoreCalls(SessionError, this.name, (error, kind) => this.#connection.describe(error, kind));
  }

  load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#calls.run("load", sessionLabel(id), () => this.#sessions.load(id, known));
  }

  save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#calls.run("save", sessionLabel(id), () =>
      this.#sessions.save(id, session, options, encodeSession(session)),
    );
  }

  append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#calls.run("save", sessionLabel(id), () => this.#sessions.append(id, delta, encodeDelta(delta)));
  }

  list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#calls.run("load", "the list of sessions", () => this.#sessions.list(query));
  }

  delete(id: string): Promise<void> {
    return this.#calls.run("save", sessionLabel(id), () => this.#sessions.delete(id));
  }

  /** Idempotent; waits for calls under way. Closes the connection the store made, never a client it was given. Calls made afterwards reject. */
  close(): Promise<void> {
    return this.#calls.close(() => this.#connection.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const WHAT = "a Redis session store";

type Given = Readonly<Partial<Record<"url" | "client" | "prefix" | "timeoutMs", unknown>>>;

function checked(options: RedisSessionStoreOptions) {
  checkFields(WHAT, options, ["url", "client", "prefix", "timeoutMs"]);
  const { prefix = "{ennead}:", timeoutMs, url, client }: Given = options;
  if (typeof prefix !== "string" || !prefix.isWellFormed()) {
    throw new CompositionError("invalid-config", "the prefix of keys is well-formed text");
  }
  const rest = { prefix, timeoutMs: timeoutOf(timeoutMs) };
  if (isClient(client)) return { source: { client }, ...rest };
  if (isRedisUrl(url)) return { source: { url }, ...rest };
  // The URL may hold a password, so no part of it is in the text.
  throw new CompositionError(
    "invalid-config",
    `${WHAT} needs { url: redis://... } or { client } of the package ioredis`,
  );
}

function isClient(client: unknown): client is RedisClient {
  return typeof client === "object" && client !== null && "evalsha" in client && typeof client.evalsha === "function";
}

function isRedisUrl(url: unknown): url is string {
  return typeof url === "string" && /^rediss?:\/\//.test(url) && URL.canParse(url);
}
