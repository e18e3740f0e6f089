import pg from "pg";
import { PostgresSessionStore } from "../../../src/adapters/sessions/postgres.js";
import { textKey } from "../../../src/domain/text-key.js";
import type { SessionStoreFixture } from "../../../src/testkit/claims/index.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { ownName } from "../../support/servers.js";

/** Runs SQL as a stranger would; answers the rows. */
export async function sqlAt(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

export type PostgresFixture = SessionStoreFixture & {
  readonly store: PostgresSessionStore;
  readonly url: string;
  readonly schema: string;
  /** SQL on this fixture's tables: `T.` stands for their schema. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  open(options?: { readonly timeoutMs?: number }): PostgresSessionStore;
};

/** A store in a schema of its own, which is dropped at the end; with others on the same data on demand. */
export function postgresFixture(
  url: string,
  schema = ownName(),
): PostgresFixture & { [Symbol.asyncDispose](): Promise<void> } {
  const opened: PostgresSessionStore[] = [];
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const open = (options: { readonly timeoutMs?: number } = {}): PostgresSessionStore => {
    const store = new PostgresSessionStore({ url, schema, timeoutMs: PATIENCE_MS, ...options });
    opened.push(store);
    return store;
  };
  const sql = (text: string, values?: unknown[]) => sqlAt(url, text.replaceAll("T.", `${quoted}.`), values);
  return {
    store: open(),
    url,
    schema,
    sql,
    open,
    reopen: () => open(),
    damage: async (id) => {
      const session = "(SELECT key FROM T.ennead_sessions WHERE id = $1)";
      const body = `'{"role":"us'`;
      await sql(`UPDATE T.ennead_messages SET body = ${body} WHERE position = 1 AND session = ${session}`, [
        textKey(id),
      ]);
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store.close();
      await sqlAt(url, `DROP SCHEMA IF EXISTS ${quoted} CASCADE`);
    },
  };
}
