import { closeSync, openSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";

/** What one kind of store keeps in a file: tables of its own, whose names begin with `ennead_`, beside those of others. */
export type SqlitePart<Name extends string> = {
  /** Its row in `ennead_schema`. */
  readonly part: string;
  /** Each brings the tables from one version to the next, in the transaction that raises the version. What was published is never changed. */
  readonly migrations: readonly string[];
  /** Statements that are prepared once. */
  readonly sql: Readonly<Record<Name, string>>;
  /** What is thrown for a file that a newer version of the package wrote. */
  newer(text: string): Error;
};

/** The statements of a part, prepared. */
export type SqliteStatements<Name extends string> = Readonly<Record<Name, StatementSync>>;

/** `busyTimeoutMs` bounds the wait for a lock; `extension` is the path of one to load; up to `cacheKiB` of the file is kept in the process, 2,000 by default. */
export type SqliteOptions = {
  readonly busyTimeoutMs: number;
  readonly extension?: string | undefined;
  readonly cacheKiB?: number | undefined;
};

/** A row as `node:sqlite` gives it out. */
export type SqliteRow = NonNullable<ReturnType<StatementSync["get"]>>;

/** Whoever creates a file may be any of the parts. */
const SCHEMA_TABLE =
  "CREATE TABLE IF NOT EXISTS ennead_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;";
const RAISE = `INSERT INTO ennead_schema (part, version) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET version = excluded.version`;

/** The longest time that SQLite takes. */
const LONGEST_MS = 2 ** 31 - 1;

const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** True for an error of `node:sqlite` that says the bytes of the file are no sound database. */
export function isCorruption(error: unknown): boolean {
  const code = resultCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}

/** An open database file with the tables of a part. Every transaction is synchronous, so none can be held across an `await`. */
export class SqliteDatabase<Name extends string> {
  readonly sql: SqliteStatements<Name>;
  readonly #database: DatabaseSync;
  readonly #part: SqlitePart<Name>;

  /** Creates file and tables where missing, the file for its owner alone, and brings older tables up to date; throws what `node:sqlite` throws, and what the part has for a newer schema. */
  constructor(path: string, { busyTimeoutMs, extension, cacheKiB }: SqliteOptions, part: SqlitePart<Name>) {
    this.#part = part;
    createPrivately(path);
    // Not an import: loading this module must neither fail nor warn where no store is used.
    const sqlite = process.getBuiltinModule("node:sqlite") as { DatabaseSync: typeof DatabaseSync } | undefined;
    if (sqlite === undefined)
      throw new Error(`Node ${process.versions.node} has no node:sqlite; 22.13 is the first that has`);
    const allowExtension = extension !== undefined;
    const timeout = Math.min(busyTimeoutMs, LONGEST_MS);
    this.#database = new sqlite.DatabaseSync(path, { timeout, allowExtension });
    try {
      if (extension !== undefined) this.#load(extension);
      if (cacheKiB !== undefined) this.#database.exec(`PRAGMA cache_size = -${cacheKiB}`);
      this.#prepareSchema();
      const prepared = Object.entries<string>(part.sql).map(([name, text]) => [name, this.prepare(text)] as const);
      this.sql = Object.fromEntries(prepared) as SqliteStatements<Name>;
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Several reads of one moment. */
  read<T>(run: (sql: SqliteStatements<Name>) => T): T {
    return this.#transaction("BEGIN", () => run(this.sql));
  }

  /** All or nothing; the lock is taken at once, since a later upgrade could not wait for another writer. */
  write<T>(run: (sql: SqliteStatements<Name>) => T): T {
    return this.#transaction("BEGIN IMMEDIATE", () => run(this.sql));
  }

  /** A statement whose text depends on what is in the file. */
  prepare(text: string): StatementSync {
    return this.#database.prepare(text);
  }

  close(): void {
    this.#database.close();
  }

  #load(extension: string): void {
    this.#database.loadExtension(extension);
    this.#database.enableLoadExtension(false);
  }

  #transaction<T>(begin: string, run: () => T): T {
    this.#database.exec(begin);
    try {
      const result = run();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #prepareSchema(): void {
    if (this.#version() < this.#part.migrations.length) this.#transaction("BEGIN IMMEDIATE", () => this.#migrate());
    this.#useWriteAheadLog();
  }

  /** Of several processes one does it, and the others find it done. */
  #migrate(): void {
    const { part, migrations } = this.#part;
    const missing = migrations.slice(this.#version());
    if (missing.length === 0) return;
    for (const text of [SCHEMA_TABLE, ...missing]) this.#database.exec(text);
    this.prepare(RAISE).run(part, migrations.length);
  }

  /** Readers and the writer then never wait for one another. The file remembers it. */
  #useWriteAheadLog(): void {
    try {
      this.#database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      // SQLite does not wait here: who opens the file in the same moment is refused, and the switch is left to the other or to the next.
      if (resultCode(error) !== BUSY) throw error;
    }
  }

  #version(): number {
    const { part, migrations } = this.#part;
    const table = this.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ennead_schema'");
    if (table.get() === undefined) return 0;
    const version = Number(
      this.prepare("SELECT version FROM ennead_schema WHERE part = ?").get(part)?.["version"] ?? 0,
    );
    if (version <= migrations.length) return version;
    const text = `the file has schema ${version}, this version of the package reads ${migrations.length}`;
    throw this.#part.newer(text);
  }
}

/** The files that SQLite puts beside it get the same mode. One that is there keeps its own. */
function createPrivately(path: string): void {
  if (path === ":memory:" || path.startsWith("file:")) return;
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch {
    // What cannot be opened is SQLite's to report.
  }
}
