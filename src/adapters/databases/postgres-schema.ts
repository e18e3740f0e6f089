import { CompositionError } from "../../domain/errors.js";
import type { Sql } from "./postgres-database.js";

/** The longest name the server keeps whole, in bytes; it cuts a longer one silently, and two schemas would be one. */
const NAME_BYTES = 63;

/** The name of a schema as SQL has it, quotes included. Throws `CompositionError("invalid-config")` for what cannot be one; anything else is taken literally. */
export function quotedSchema(schema: string): string {
  const bytes = Buffer.byteLength(schema);
  if (bytes === 0 || bytes > NAME_BYTES || schema.includes("\0") || !schema.isWellFormed()) {
    throw new CompositionError("invalid-config", `the name of a schema has 1 to ${NAME_BYTES} bytes and no NUL`);
  }
  return `"${schema.replaceAll('"', '""')}"`;
}

/** What one kind of store keeps in a schema, which may hold others beside it. */
export type PostgresPart = {
  /** Quoted, like `versions`, the table of which version each part has. */
  readonly schema: string;
  readonly versions: string;
  readonly part: string;
  /** Steps from one version of the tables to the next; each is run once, in the transaction that raises the version. */
  readonly migrations: readonly string[];
  /** What is thrown for tables that a newer version of the package made. */
  newer(text: string): Error;
};

/** Any number that is ours alone: whoever migrates our tables in this database takes it first. */
const MIGRATION_LOCK = "7310031446873621";

/**
 * Brings the tables to the newest version; to be run in one transaction. Of many processes one does it and the others wait; where nothing
 * is missing it only reads, so that a role without the right to create tables can use what is there.
 */
export async function migratePart(sql: Sql, part: PostgresPart): Promise<void> {
  const { schema, versions, migrations } = part;
  if ((await versionOf(sql, part)) === migrations.length) return;
  await sql(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  // IF NOT EXISTS asks for the right to create a schema even where it is there.
  const [found] = await sql("SELECT to_regnamespace($1) AS schema", [schema]);
  if (found?.["schema"] === null) await sql(`CREATE SCHEMA ${schema}`);
  await sql(`CREATE TABLE IF NOT EXISTS ${versions} (part text PRIMARY KEY, version integer NOT NULL)`);
  const version = await versionOf(sql, part);
  for (const migration of migrations.slice(version)) await sql(migration);
  await sql(
    `INSERT INTO ${versions} VALUES ($1, $2)
      ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
    [part.part, migrations.length],
  );
}

async function versionOf(sql: Sql, { versions, migrations, part, newer }: PostgresPart): Promise<number> {
  const [table] = await sql("SELECT to_regclass($1) AS name", [versions]);
  if (table?.["name"] === null) return 0;
  const [row] = await sql(`SELECT version FROM ${versions} WHERE part = $1`, [part]);
  const version = Number(row?.["version"] ?? 0);
  if (version <= migrations.length) return version;
  throw newer(`the tables have version ${version}, this version of the package reads ${migrations.length}`);
}
