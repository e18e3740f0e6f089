import pg from "pg";
import type { PostgresPool } from "../../../src/adapters/memory/postgres.js";

/** A pool that keeps how the server went about each search for entries, with the settings of its transaction, which may begin with another statement. */
export function watchedPool(url: string, first?: string) {
  const inner = new pg.Pool({ connectionString: url });
  inner.on("error", () => {});
  const plans: string[] = [];
  const pool: PostgresPool = {
    async connect() {
      const client = await inner.connect();
      return {
        async query(query) {
          if (query.text.startsWith("SELECT entry")) {
            const { rows } = await client.query<Record<string, string>>({ ...query, text: `EXPLAIN ${query.text}` });
            plans.push(rows.map((row) => Object.values(row).join("")).join("\n"));
          }
          const answer = await client.query(query);
          if (first !== undefined && query.text.startsWith("BEGIN")) await client.query(first);
          return answer;
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener),
      };
    },
  };
  return {
    pool,
    plans,
    async [Symbol.asyncDispose]() {
      await inner.end();
    },
  };
}
