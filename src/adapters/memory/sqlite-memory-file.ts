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

/**
 * Codes of vectors, by which a search chooses what it compares: many in one row, which is never written again. An entry that goes leaves its code, until
 * more than half of a chunk is gone and the rest of it is without codes again; a trigger sees to that, whoever deletes.
 */
const CODES = `
  ALTER TABLE ennead_memory_spaces ADD COLUMN centroid BLOB;
  ALTER TABLE ennead_memory_vectors ADD COLUMN chunk INTEGER;
  CREATE INDEX ennead_memory_vectors_chunk ON ennead_memory_vectors (space, chunk);
  CREATE TABLE ennead_memory_chunks (
    key INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, size INTEGER NOT NULL, gone INTEGER NOT NULL) STRICT;
  CREATE TABLE ennead_memory_codes (
    chunk INTEGER PRIMARY KEY, entries BLOB NOT NULL, weights BLOB NOT NULL, signs BLOB NOT NULL) STRICT;
  CREATE TRIGGER ennead_memory_vector_gone AFTER DELETE ON ennead_memory_vectors WHEN old.chunk IS NOT NULL BEGIN
    UPDATE ennead_memory_chunks SET gone = gone + 1 WHERE key = old.chunk;
    UPDATE ennead_memory_vectors SET chunk = NULL WHERE space = old.space
      AND chunk = (SELECT key FROM ennead_memory_chunks WHERE key = old.chunk AND gone * 2 > size);
    DELETE FROM ennead_memory_codes
      WHERE chunk = (SELECT key FROM ennead_memory_chunks WHERE key = old.chunk AND gone * 2 > size);
    DELETE FROM ennead_memory_chunks WHERE key = old.chunk AND gone * 2 > size;
  END;`;

/** Every place where a term is, by its entry: much quicker to list than ranks are, for each of which FTS5 looks up how long the entry is. */
const PLACES = "CREATE VIRTUAL TABLE ennead_memory_places USING fts5vocab (ennead_memory_words, 'instance')";

const SQL = {
  keyOf: "SELECT key FROM ennead_memories WHERE id = ?",
  entry: "SELECT id, content, metadata FROM ennead_memories WHERE key = ?",
  add: "INSERT INTO ennead_memories (id, content, metadata) VALUES (?, ?, ?)",
  remove: "DELETE FROM ennead_memories WHERE key = ?",
  addField: "INSERT OR IGNORE INTO ennead_memory_fields (name, value, entry) VALUES (?, ?, ?)",
  removeFields: "DELETE FROM ennead_memory_fields WHERE entry = ?",
  withField: `SELECT json_group_array(entry) AS entries
    FROM (SELECT entry FROM ennead_memory_fields WHERE name = ? AND value = ? LIMIT ?)`,
  hasField: "SELECT 1 FROM ennead_memory_fields WHERE name = ? AND value = ? AND entry = ?",
  addTerms: "INSERT INTO ennead_memory_words (rowid, terms) VALUES (?, ?)",
  removeTerms: "DELETE FROM ennead_memory_words WHERE rowid = ?",
  terms: `SELECT json_group_array(json_array(value, terms)) AS terms
    FROM json_each(?) CROSS JOIN ennead_memory_words AS words ON words.rowid = value`,
  totals: "SELECT entries, terms FROM ennead_memory_totals",
  addTotals: "UPDATE ennead_memory_totals SET entries = entries + ?, terms = terms + ?",
  having: "SELECT term, doc, cnt FROM ennead_memory_vocabulary WHERE term IN (SELECT value FROM json_each(?))",
  // A list in one row costs a tenth of what a row an entry does.
  places: "SELECT json_group_array(doc) AS entries FROM ennead_memory_places WHERE term = ?",
  lengths: `SELECT json_group_array(id) AS entries, group_concat(hex(sz)) AS sizes
    FROM (SELECT id, sz FROM ennead_memory_words_docsize WHERE id > ? ORDER BY id)`,
  schemaVersion: "SELECT schema_version FROM pragma_schema_version",
  space: "SELECT key, model, dimensions FROM ennead_memory_spaces ORDER BY key DESC LIMIT 1",
  addSpace: "INSERT INTO ennead_memory_spaces (model, dimensions) VALUES (?, ?)",
  addVector: "INSERT INTO ennead_memory_vectors (entry, space, vector) VALUES (?, ?, ?)",
  removeVector: "DELETE FROM ennead_memory_vectors WHERE entry = ?",
  withoutVector: `SELECT key, content FROM ennead_memories
    WHERE key > ? AND key NOT IN (SELECT entry FROM ennead_memory_vectors WHERE space = ?) ORDER BY key LIMIT 1`,
  uncoded: "SELECT json_group_array(entry) AS entries FROM ennead_memory_vectors WHERE space = ? AND chunk IS NULL",
  manyUncoded: "SELECT 1 FROM ennead_memory_vectors WHERE space = ? AND chunk IS NULL LIMIT 1 OFFSET ?",
  uncodedVectors:
    "SELECT entry, vector FROM ennead_memory_vectors WHERE space = ? AND chunk IS NULL ORDER BY entry LIMIT ?",
  setChunk: "UPDATE ennead_memory_vectors SET chunk = ? WHERE entry IN (SELECT value FROM json_each(?))",
  centroid: "SELECT centroid FROM ennead_memory_spaces WHERE key = ?",
  setCentroid: "UPDATE ennead_memory_spaces SET centroid = ? WHERE key = ?",
  addChunk: "INSERT INTO ennead_memory_chunks (space, size, gone) VALUES (?, ?, 0)",
  addCodes: "INSERT INTO ennead_memory_codes (chunk, entries, weights, signs) VALUES (?, ?, ?, ?)",
  chunks: "SELECT key, gone FROM ennead_memory_chunks WHERE space = ?",
  codes: "SELECT entries, weights, signs FROM ennead_memory_codes WHERE chunk = ?",
  present: `SELECT count(*) AS count FROM json_each(?) CROSS JOIN ennead_memory_vectors ON entry = value WHERE space = ?`,
} as const;

/** Only where `sqlite-vec` is loaded. A vector of zeros is near to nothing, so it gives no number, and comes last. */
const VECTOR_SQL = {
  // CROSS: by the keys asked for, not through all vectors of the space.
  near: `SELECT entry, 1 - vec_distance_cosine(vector, ?) AS cosine
    FROM json_each(?) CROSS JOIN ennead_memory_vectors ON entry = value WHERE space = ?
    ORDER BY cosine DESC, entry DESC LIMIT ?`,
  cosine:
    "SELECT 1 - vec_distance_cosine(vector, ?) AS cosine FROM ennead_memory_vectors WHERE entry = ? AND space = ?",
} as const;

const WITHOUT_VECTORS = { near: "SELECT 1", cosine: "SELECT 1" } as const;

type Name = keyof typeof SQL | keyof typeof VECTOR_SQL;

/** A search looks all over the file: with what SQLite keeps by default, it would read most of it anew each time. */
const CACHE_KIB = 64 * 1024;

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
  return new SqliteDatabase(
    path,
    { ...options, cacheKiB: CACHE_KIB },
    {
      part: "memory",
      migrations: [SCHEMA, CODES, PLACES],
      sql: { ...SQL, ...vectors },
      newer,
    },
  );
}
