import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import type { SessionStoreFixture } from "../../../src/testkit/claims/index.js";

/** A directory that is removed at the end of the block. */
export function temporaryDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "ennead-sessions-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs SQL on a file as a stranger would; answers the rows. */
export function sqlOn(path: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path);
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

export type SqliteFixture = SessionStoreFixture & { readonly store: SqliteSessionStore; readonly path: string };

/** A store on a real file, alone in its directory, which is alone in a temporary one; with a second one on demand. */
export function sqliteFixture(): SqliteFixture & { [Symbol.asyncDispose](): Promise<void> } {
  const directory = temporaryDirectory();
  const path = join(directory.path, "store", "sessions.db");
  mkdirSync(dirname(path));
  const stores = [new SqliteSessionStore({ path })] as const;
  const opened: SqliteSessionStore[] = [...stores];
  return {
    store: stores[0],
    path,
    damage: (id) => {
      const session = `(SELECT key FROM ennead_sessions WHERE id = '${id}')`;
      sqlOn(path, `UPDATE ennead_messages SET body = '{"role":"us' WHERE position = 1 AND session = ${session}`);
    },
    reopen: () => {
      const again = new SqliteSessionStore({ path });
      opened.push(again);
      return again;
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store.close();
      directory[Symbol.dispose]();
    },
  };
}
