import { Redis } from "ioredis";
import pg from "pg";
import type { StorePlace } from "./store-place.js";

/** Removes what a soak left on a server, which may be somebody's own. */
export async function clearPlace({ kind, at, name }: StorePlace): Promise<void> {
  if (kind === "postgres") await dropSchema(at, name);
  if (kind === "redis") await dropKeys(at, `{${name}}:`);
}

async function dropSchema(url: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`DROP SCHEMA IF EXISTS ${client.escapeIdentifier(schema)} CASCADE`);
  } finally {
    await client.end();
  }
}

async function dropKeys(url: string, prefix: string): Promise<void> {
  const client = new Redis(url);
  try {
    for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
      const found = keys as readonly string[];
      if (found.length > 0) await client.unlink(...found);
    }
  } finally {
    client.disconnect();
  }
}
