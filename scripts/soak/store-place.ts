import { join } from "node:path";
import { JsonlSessionStore } from "../../src/adapters/sessions/jsonl.js";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { PostgresSessionStore } from "../../src/adapters/sessions/postgres.js";
import { RedisSessionStore } from "../../src/adapters/sessions/redis.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import type { SessionStore } from "../../src/ports/session-store.js";

/** The stores that can be soaked. */
export const STORES = ["jsonl", "sqlite", "postgres", "redis", "memory"] as const;

/** Where a store is, as data that can be given to another process: a directory, or a server with a name for what is ours on it. */
export type StorePlace = { readonly kind: (typeof STORES)[number]; readonly at: string; readonly name: string };

/** A store with the methods that a soak uses; whoever opened it closes it. */
export type SoakedStore = SessionStore & { append: NonNullable<SessionStore["append"]>; close?(): Promise<void> };

export function openStore({ kind, at, name }: StorePlace): SoakedStore {
  switch (kind) {
    case "jsonl":
      return new JsonlSessionStore({ directory: join(at, name) });
    case "sqlite":
      return new SqliteSessionStore({ path: join(at, `${name}.db`), busyTimeoutMs: 30_000 });
    case "postgres":
      return new PostgresSessionStore({ url: at, schema: name });
    case "redis":
      return new RedisSessionStore({ url: at, prefix: `{${name}}:` });
    case "memory":
      return new MemorySessionStore();
  }
}
