import { PostgresSessionStore } from "../../src/adapters/sessions/postgres.js";
import { RedisSessionStore } from "../../src/adapters/sessions/redis.js";

/** A store on a server, as data that can be given to another process. */
export type StorePlace = {
  readonly kind: "postgres" | "redis";
  readonly url: string;
  /** The schema, or what the key prefix is made of. */
  readonly name: string;
  readonly timeoutMs?: number;
};

export function openAt({ kind, url, name, timeoutMs }: StorePlace): PostgresSessionStore | RedisSessionStore {
  if (kind === "postgres") return new PostgresSessionStore({ url, schema: name, timeoutMs });
  return new RedisSessionStore({ url, prefix: `{${name}}:`, timeoutMs });
}
