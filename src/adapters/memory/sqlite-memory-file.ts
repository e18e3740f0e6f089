import { MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
import { SqliteDatabase, type SqliteStatements } from "../databases/sqlite-database.js";

/**
 * `ennead_memory_words` holds the terms of each entry with a space between them, as `textTerms` found them: its tokenizer takes every letter
 * for what it is. A vector belongs to the space of one model; the space with the highest key is the present one.
 */
const SCHEMA = `
  CREATE TABLE ennead_memories (
    key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL, metadata TEXT NOT NULL) STRICT;
  CREATE TABLE ennead_memory_fields (
    name TEXT NOT NULL, value TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (name, value, entry)) STRICT, WITHOUT ROWID;
  CREATE INDEX ennead_memory_fields_entry ON ennead_memory_fields (entry);
  CREATE VIRTUAL TABLE ennead_memory_words USING fts5 (terms, tokenize = "ascii tokenchars '_'");
  CREATE VIRTUAL TABLE ennead_memory_vocabulary USING fts5vocab (ennead_memory_words, 'row');
  CREATE TABLE ennead_memory_totals (entries INTEGER NOT NULL, terms INTEGER NOT NULL) STRICT;
  CREATE TABLE ennead_memory_spaces (key INTEGER PRIMARY KEY, model TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
  CREATE TABLE ennead_memory_vectors (entry INTEGER PRIMARY KEY, space INTEGER NOT NULL, vector BLOB NOT NULL) STRICT;
  INSERT INTO ennead_memory_totals VALUES (0, 0);`;

const SQL = {
  keyOf: "SELECT key FROM ennead_memories WHERE id = ?",
  entry: "SELECT id, content, metadata FROM ennead_memories WHERE key = ?",
  add: "INSERT INTO ennead_memories (id, content, metadata) VALUES (?, ?, ?)",
  remove: "DELETE FROM ennead_memories WHERE key = ?",
  addField: "INSERT OR IGNORE INTO ennead_memory_fields (name, value, entry) VALUES (?, ?, ?)",
  removeFields: "DELETE FROM ennead_memory_fields WHERE entry = ?",
  withField: "SELECT entry FROM ennead_memory_fields WHERE name = ? AND value = ?",
  fewWithField: "SELECT entry FROM ennead_memory_fields WHERE name = ? AND value = ? LIMIT ?",
  hasField: "SELECT 1 FROM ennead_memory_fields WHERE name = ? AND value = ? AND entry = ?",
  addTerms: "INSERT INTO ennead_memory_words (rowid, terms) VALUES (?, ?)",
  removeTerms: "DELETE FROM ennead_memory_words WHERE rowid = ?",
  terms: "SELECT terms FROM ennead_memory_words WHERE rowid = ?",
  totals: "SELECT entries, terms FROM ennead_memory_totals",
  addTotals: "UPDATE ennead_memory_totals SET entries = entries + ?, terms = terms + ?",
  having: "SELECT term, doc FROM ennead_memory_vocabulary WHERE term IN (SELECT value FROM json_each(?))",
  // Two lists in one row cost half of what a row an entry does.
  ranks: `SELECT json_group_array(rowid) AS entries, json_group_array(rank) AS ranks
    FROM ennead_memory_words WHERE ennead_memory_words MATCH ?`,
  space: "SELECT key, model, dimensions FROM ennead_memory_spaces ORDER BY key DESC LIMIT 1",
  addSpace: "INSERT INTO ennead_memory_spaces (model, dimensions) VALUES (?, ?)",
  setVector: "INSERT OR REPLACE INTO ennead_memory_vectors (entry, space, vector) VALUES (?, ?, ?)",
  removeVector: "DELETE FROM ennead_memory_vectors WHERE entry = ?",
  withoutVector: `SELECT key, content FROM ennead_memories
    WHERE key > ? AND key NOT IN (SELECT entry FROM ennead_memory_vectors WHERE space = ?) ORDER BY key LIMIT 1`,
} as const;

/** Only where `sqlite-vec` is loaded. A vector of zeros is near to nothing, so it gives no number. */
const VECTOR_SQL = {
  near: `SELECT entry, 1 - vec_distance_cosine(vector, ?) AS cosine FROM ennead_memory_vectors
    WHERE space = ? AND (? IS NULL OR entry IN (SELECT value FROM json_each(?))) AND cosine IS NOT NULL
    ORDER BY cosine DESC, entry DESC LIMIT ?`,
  cosine:
    "SELECT 1 - vec_distance_cosine(vector, ?) AS cosine FROM ennead_memory_vectors WHERE entry = ? AND space = ?",
} as const;

const WITHOUT_VECTORS = { near: "SELECT 1", cosine: "SELECT 1" } as const;

type Name = keyof typeof SQL | keyof typeof VECTOR_SQL;

/** The statements of a memory. */
export type MemoryStatements = SqliteStatements<Name>;

/** An open file with the tables of a memory. */
export type SqliteMemoryFile = SqliteDatabase<Name>;

/** Creates file and tables where missing; with the path of `sqlite-vec` vectors can be compared. Throws like `SqliteDatabase`. */
export function openMemory(
  path: string,
  kind: MemoryErrorKind,
  options: { readonly busyTimeoutMs: number; readonly extension: string | undefined },
): SqliteMemoryFile {
  const vectors = options.extension === undefined ? WITHOUT_VECTORS : VECTOR_SQL;
  const newer = (text: string): Error => new MemoryError(kind, text);
  return new SqliteDatabase(path, options, {
    part: "memory",
    migrations: [SCHEMA],
    sql: { ...SQL, ...vectors },
    newer,
  });
}
