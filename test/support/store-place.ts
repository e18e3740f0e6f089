import { JsonlSessionStore } from "../../src/adapters/sessions/jsonl.js";
import { PostgresSessionStore } from "../../src/adapters/sessions/postgres.js";
import { RedisSessionStore } from "../../src/adapters/sessions/redis.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { PATIENCE_MS } from "./patience.js";

/** A store that several processes can use, as data that can be given to another process. */
export type StorePlace = {
  readonly kind: "postgres" | "redis" | "sqlite" | "jsonl";
  /** Of the server, or the path of the file or directory. */
  readonly url: string;
  /** The schema, or what the key prefix is made of; nothing to a file. */
  readonly name: string;
  readonly timeoutMs?: number;
};

export function openAt({
  kind,
  url,
  name,
  timeoutMs = PATIENCE_MS,
}: StorePlace): PostgresSessionStore | RedisSessionStore | SqliteSessionStore | JsonlSessionStore {
  if (kind === "jsonl") return new JsonlSessionStore({ directory: url });
  if (kind === "sqlite") return new SqliteSessionStore({ path: url, busyTimeoutMs: timeoutMs });
  if (kind === "postgres") return new PostgresSessionStore({ url, schema: name, timeoutMs });
  return new RedisSessionStore({ url, prefix: `{${name}}:`, timeoutMs });
}
