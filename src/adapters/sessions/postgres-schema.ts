import { CompositionError, SessionError } from "../../domain/errors.js";
import type { Sql } from "./postgres-database.js";

/** Names of tables, quoted and with their schema. */
export type Tables = Readonly<Record<"schema" | "versions" | "sessions" | "messages" | "operations", string>>;

/** The longest name the server keeps whole, in bytes; it cuts a longer one silently, and two schemas would be one. */
const NAME_BYTES = 63;

/** Throws `CompositionError("invalid-config")` for what cannot be the name of a schema. Anything else is taken literally, quotes included. */
export function tablesIn(schema: string): Tables {
  const bytes = Buffer.byteLength(schema);
  if (bytes === 0 || bytes > NAME_BYTES || schema.includes("\0") || !schema.isWellFormed()) {
    throw new CompositionError("invalid-config", `the name of a schema has 1 to ${NAME_BYTES} bytes and no NUL`);
  }
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  return {
    schema: quoted,
    versions: `${quoted}.ennead_schema`,
    sessions: `${quoted}.ennead_sessions`,
    messages: `${quoted}.ennead_messages`,
    operations: `${quoted}.ennead_operations`,
  };
}

/** A step from one version of the tables to the next; run once, in the transaction that raises the version. */
export type Migration = (tables: Tables) => string;

/**
 * The row of a deleted session stays: it keeps the highest revision the id ever had, and it is what writers of one id queue at. Bodies are
 * JSON text, which holds NUL and lone surrogates as escapes; jsonb refuses both, and changes numbers and the order of keys.
 */
const MIGRATIONS: readonly Migration[] = [
  ({ sessions, messages, operations }) => `
    CREATE TABLE ${sessions} (
      key bigserial PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, live boolean NOT NULL DEFAULT false,
      revision bigint NOT NULL DEFAULT 0, retired bigint NOT NULL DEFAULT 0, count bigint NOT NULL DEFAULT 0,
      metadata text NOT NULL DEFAULT '{}', compaction text, later_fields text,
      write_number bigint GENERATED ALWAYS AS IDENTITY, updated_at bigint NOT NULL DEFAULT 0);
    CREATE INDEX ennead_sessions_newest ON ${sessions} (write_number) WHERE live;
    CREATE TABLE ${messages} (
      session bigint NOT NULL, position bigint NOT NULL, revision bigint NOT NULL, body text NOT NULL,
      PRIMARY KEY (session, position));
    CREATE TABLE ${operations} (
      session bigint NOT NULL, operation text COLLATE "C" NOT NULL, revision bigint NOT NULL,
      PRIMARY KEY (session, operation));`,
];

/** Any number that is ours alone: whoever migrates our tables in this database takes it first. */
const MIGRATION_LOCK = "7310031446873621";

/**
 * Brings the tables to the newest version; to be run in one transaction. Of many processes one does it and the others wait; where nothing
 * is missing it only reads, so that a role without the right to create tables can use what is there. Rejects with `SessionError("load")` for newer tables.
 */
export async function migrate(sql: Sql, tables: Tables, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  if ((await versionOf(sql, tables, migrations)) === migrations.length) return;
  await sql(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  // IF NOT EXISTS asks for the right to create a schema even where it is there.
  const [found] = await sql("SELECT to_regnamespace($1) AS schema", [tables.schema]);
  if (found?.["schema"] === null) await sql(`CREATE SCHEMA ${tables.schema}`);
  await sql(`CREATE TABLE IF NOT EXISTS ${tables.versions} (part text PRIMARY KEY, version integer NOT NULL)`);
  const version = await versionOf(sql, tables, migrations);
  for (const migration of migrations.slice(version)) await sql(migration(tables));
  await sql(
    `INSERT INTO ${tables.versions} VALUES ('sessions', $1)
      ON CONFLICT (part) DO UPDATE SET version = excluded.version`,
    [migrations.length],
  );
}

async function versionOf(sql: Sql, { versions }: Tables, migrations: readonly Migration[]): Promise<number> {
  const [table] = await sql("SELECT to_regclass($1) AS name", [versions]);
  if (table?.["name"] === null) return 0;
  const [row] = await sql(`SELECT version FROM ${versions} WHERE part = 'sessions'`);
  const version = Number(row?.["version"] ?? 0);
  if (version <= migrations.length) return version;
  const text = `the tables have version ${version}, this version of the package reads ${migrations.length}`;
  throw new SessionError("load", text);
}
