import pg from "pg";
import { PostgresMemory, type PostgresMemoryOptions } from "../../../src/adapters/memory/postgres.js";
import { textKey } from "../../../src/domain/text-key.js";
import type { MemoryPortFixture } from "../../../src/testkit/index.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { ownName } from "../../support/servers.js";

export type PostgresMemoryFixture = MemoryPortFixture & {
  readonly memory: PostgresMemory;
  readonly schema: string;
  open(options?: Partial<PostgresMemoryOptions>): PostgresMemory;
  /** SQL as a stranger would run it: `T.` stands for the schema. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** A memory in a schema of its own, which is dropped at the end; with others on the same data on demand. */
export function postgresMemoryFixture(
  url: string,
  options: Partial<PostgresMemoryOptions> = {},
  schema = ownName(),
): PostgresMemoryFixture {
  const opened: PostgresMemory[] = [];
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const open = (others: Partial<PostgresMemoryOptions> = {}): PostgresMemory => {
    const memory = new PostgresMemory({
      url,
      schema,
      timeoutMs: PATIENCE_MS,
      ...options,
      ...others,
    } as PostgresMemoryOptions);
    opened.push(memory);
    return memory;
  };
  const sql = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text.replaceAll("T.", `${quoted}.`), values)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    memory: open(),
    schema,
    open,
    sql,
    reopen: () => open(),
    damage: async (id) => {
      await sql(`UPDATE T.ennead_memories SET metadata = '{"k"' WHERE id = $1`, [textKey(id)]);
    },
    async [Symbol.asyncDispose]() {
      for (const memory of opened) await memory.close();
      await sql(`DROP SCHEMA IF EXISTS ${quoted} CASCADE`);
    },
  };
}
