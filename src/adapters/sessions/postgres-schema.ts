import { SessionError } from "../../domain/errors.js";
import type { Sql } from "../databases/postgres-database.js";
import { migratePart, quotedSchema } from "../databases/postgres-schema.js";

/** Names of tables, quoted and with their schema. */
export type Tables = Readonly<Record<"schema" | "versions" | "sessions" | "messages" | "operations", string>>;

/** Throws `CompositionError("invalid-config")` for what cannot be the name of a schema. Anything else is taken literally, quotes included. */
export function tablesIn(schema: string): Tables {
  const quoted = quotedSchema(schema);
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

/** Brings the tables to the newest version, like `migratePart`. Rejects with `SessionError("load")` for newer tables. */
export async function migrate(sql: Sql, tables: Tables, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  const { schema, versions } = tables;
  const newer = (text: string): Error => new SessionError("load", text);
  const steps = migrations.map((migration) => migration(tables));
  await migratePart(sql, { schema, versions, part: "sessions", migrations: steps, newer });
}
