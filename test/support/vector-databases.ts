import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import pg from "pg";
import { ownName, postgresUrl } from "./servers.js";

/** A database that nobody else uses, gone once it is disposed of. */
export type OwnDatabase = AsyncDisposable & { readonly url: string };

/**
 * One whose server has the extension `vector`, which is still to be created there: of the server of `postgresUrl` where that has it, else a
 * PostgreSQL in this process. `stopServers` is to be called after the last.
 */
export async function vectorDatabase(): Promise<OwnDatabase> {
  serverWithVector ??= findServer();
  const server = await serverWithVector;
  return server === undefined ? databaseInProcess() : databaseOf(server);
}

let serverWithVector: Promise<string | undefined> | undefined;

async function findServer(): Promise<string | undefined> {
  const server = await postgresUrl();
  if ("missing" in server) return undefined;
  const rows = await runSql(server.found, "SELECT FROM pg_available_extensions WHERE name = 'vector'");
  return rows.length > 0 ? server.found : undefined;
}

async function databaseOf(server: string): Promise<OwnDatabase> {
  const name = ownName();
  await runSql(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await runSql(server, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** It has one session: a transaction waits until that of another connection has ended, and settings of one connection are those of all. */
async function databaseInProcess(): Promise<OwnDatabase> {
  const db = await PGlite.create({ extensions: { vector } });
  const server = new PGLiteSocketServer({ db, port: 0, maxConnections: 100 });
  await server.start();
  return {
    url: `postgres://postgres@${server.getServerConn()}/postgres`,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await db.close();
    },
  };
}

/** One statement on a connection of its own. */
export async function runSql(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
