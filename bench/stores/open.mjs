import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The kinds of stores there are, in the order of the table. */
export const kinds = ["memory", "sqlite", "jsonl", "postgres", "redis"].filter(
  (kind) => kind !== "jsonl" || existsSync(resolve(import.meta.dirname, "../../dist/sessions-jsonl.js")),
);

/** A store in an empty folder, or on the server at `url`, under a name of its own. Whoever opened it closes it. */
export async function openStore({ kind, folder, url, name }) {
  switch (kind) {
    case "memory":
      return new (await import("ennead/sessions/memory")).MemorySessionStore();
    case "sqlite":
      return new (await import("ennead/sessions/sqlite")).SqliteSessionStore({ path: join(folder, "sessions.db") });
    case "jsonl":
      return new (await import("ennead/sessions/jsonl")).JsonlSessionStore({ directory: join(folder, "sessions") });
    case "postgres":
      return new (await import("ennead/sessions/postgres")).PostgresSessionStore({
        url,
        schema: name,
        timeoutMs: 120_000,
      });
    case "redis":
      return new (await import("ennead/sessions/redis")).RedisSessionStore({
        url,
        prefix: `{${name}}:`,
        timeoutMs: 120_000,
      });
    default:
      throw new Error(`there is no store ${kind}`);
  }
}
