import { MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
import type { Sql } from "../databases/postgres-database.js";
import { migratePart, quotedSchema } from "../databases/postgres-schema.js";

const NAMES = ["memories", "terms", "postings", "frequencies", "fields", "totals", "spaces", "vectors"] as const;

/** Names of tables, quoted and with their schema. */
export type MemoryTables = Readonly<Record<"schema" | "versions" | (typeof NAMES)[number], string>>;

/** Throws `CompositionError("invalid-config")` for what cannot be the name of a schema. */
export function memoryTablesIn(name: string): MemoryTables {
  const schema = quotedSchema(name);
  const table = (part: string): string => `${schema}.ennead_memory_${part}`;
  return {
    schema,
    versions: `${schema}.ennead_schema`,
    memories: `${schema}.ennead_memories`,
    terms: table("terms"),
    postings: table("postings"),
    frequencies: table("frequencies"),
    fields: table("fields"),
    totals: table("totals"),
    spaces: table("spaces"),
    vectors: table("vectors"),
  };
}

/** Brings the tables to the newest version. Rejects with `MemoryError(kind)` for newer ones. */
export async function migrateMemory(sql: Sql, kind: MemoryErrorKind, tables: MemoryTables): Promise<void> {
  const { schema, versions } = tables;
  const newer = (text: string): Error => new MemoryError(kind, text);
  await migratePart(sql, {
    schema,
    versions,
    part: "memory",
    migrations: [firstTables(tables), anyLength(tables), countedTerms(tables)],
    newer,
  });
}

/** A vector is an array, which every server has; where `vector` is installed, that compares them. */
function firstTables({ memories, terms, fields, totals, spaces, vectors }: MemoryTables): string {
  return `
    CREATE TABLE ${memories} (
      key bigserial PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, content text NOT NULL, metadata text NOT NULL,
      length bigint NOT NULL);
    CREATE TABLE ${terms} (
      term text COLLATE "C" NOT NULL, entry bigint NOT NULL, count integer NOT NULL, length bigint NOT NULL,
      PRIMARY KEY (term, entry) INCLUDE (count, length));
    CREATE INDEX ennead_memory_terms_entry ON ${terms} (entry);
    CREATE TABLE ${fields} (
      name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, entry bigint NOT NULL,
      PRIMARY KEY (name, value, entry));
    CREATE INDEX ennead_memory_fields_entry ON ${fields} (entry);
    CREATE TABLE ${totals} (entries bigint NOT NULL, terms bigint NOT NULL, configuration text);
    INSERT INTO ${totals} VALUES (0, 0, NULL);
    CREATE TABLE ${spaces} (key serial PRIMARY KEY, model text NOT NULL, dimensions integer NOT NULL);
    CREATE TABLE ${vectors} (entry bigint PRIMARY KEY, space integer NOT NULL, vector real[] NOT NULL);`;
}

/** A tree has no room for a long id; a hash has, and is as unique. */
function anyLength({ memories }: MemoryTables): string {
  return `
    ALTER TABLE ${memories} DROP CONSTRAINT ennead_memories_id_key;
    ALTER TABLE ${memories} ADD CONSTRAINT ennead_memories_one_id EXCLUDE USING hash (id WITH =);`;
}

/**
 * How many entries have a term, which took longest to count in each search, how often one of them has it at most, and the length of the shortest: by
 * these a search knows what it need not look at. Half of a page is left for what changes with every entry. The other table gets another name, so
 * that processes of an older version, which would not count, fail instead.
 */
function countedTerms({ terms, postings, frequencies }: MemoryTables): string {
  return `
    ALTER TABLE ${terms} RENAME TO ennead_memory_postings;
    CREATE TABLE ${frequencies} (
      term text COLLATE "C" PRIMARY KEY, entries bigint NOT NULL, most integer NOT NULL, shortest bigint NOT NULL)
      WITH (fillfactor = 50);
    INSERT INTO ${frequencies} SELECT term, count(*), max(count), min(length) FROM ${postings} GROUP BY term;`;
}
