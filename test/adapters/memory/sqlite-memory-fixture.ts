import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { SqliteMemory, type SqliteMemoryOptions } from "../../../src/adapters/memory/sqlite.js";
import type { MemoryPortFixture } from "../../../src/testkit/index.js";

export type SqliteMemoryFixture = MemoryPortFixture & {
  readonly memory: SqliteMemory;
  readonly path: string;
  open(options?: Partial<SqliteMemoryOptions>): SqliteMemory;
  /** SQL on the file as a stranger would run it; answers the rows. */
  sql(text: string): Record<string, unknown>[];
  /** Keeps the file as it is now; what that answers puts it back, under whoever has it open. */
  backup(): () => Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** A memory on a real file, alone in its directory; with others on the same file on demand. */
export function sqliteMemoryFixture(options: Partial<SqliteMemoryOptions> = {}): SqliteMemoryFixture {
  const directory = mkdtempSync(join(tmpdir(), "ennead-memory-"));
  const path = join(directory, "store", "memory.db");
  mkdirSync(dirname(path));
  const opened: SqliteMemory[] = [];
  const open = (others: Partial<SqliteMemoryOptions> = {}): SqliteMemory => {
    const memory = new SqliteMemory({ path, ...options, ...others });
    opened.push(memory);
    return memory;
  };
  const sql = (text: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(path);
    try {
      return database.prepare(text).all();
    } finally {
      database.close();
    }
  };
  return {
    memory: open(),
    path,
    open,
    sql,
    backup() {
      const copy = `${path}.backup`;
      sql(`VACUUM INTO '${copy}'`);
      return async () => {
        const database = new DatabaseSync(copy);
        await backup(database, path);
        database.close();
      };
    },
    reopen: () => open(),
    damage: (id) => void sql(`UPDATE ennead_memories SET metadata = '{"k"' WHERE id = '${id}'`),
    async [Symbol.asyncDispose]() {
      for (const memory of opened) await memory.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
