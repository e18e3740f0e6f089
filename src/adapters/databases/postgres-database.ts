import { EnneadError } from "../../domain/errors.js";
import { missingPackage } from "../../domain/missing-package.js";
import { safeLabel } from "../../domain/safe-label.js";
import { NoAnswer, within } from "./within.js";

/** What the store uses of a `pg` pool. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}

/** What the store uses of a client taken from a `pg` pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly unknown[] }>;
  /** With `true` the connection is closed and not used again. */
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** A statement as `pg` takes it. */
export type PostgresQuery = {
  text: string;
  values?: unknown[];
  types: { getTypeParser(): (value: string) => string };
};

/** A row with every value as the server's text. */
export type Row = Readonly<Record<string, string | null>>;

/** One statement; rejects with what `pg` rejects with, or `NoAnswer`. */
export type Sql = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** The application may have set other parsers for its own queries. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

type OwnPool = PostgresPool & { end(): Promise<void> };

/** Transactions on a pool. Each call on the network is bounded by `timeoutMs`. */
export class PostgresDatabase {
  readonly #url: string | undefined;
  readonly #timeoutMs: number;
  #pool: Promise<PostgresPool> | undefined;
  #own: OwnPool | undefined;

  /** A pool that is given is the caller's to close; one made of a URL is made by the first transaction. */
  constructor(source: { readonly url: string } | { readonly pool: PostgresPool }, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    if ("pool" in source) this.#pool = Promise.resolve(source.pool);
    this.#url = "url" in source ? source.url : undefined;
  }

  /** Several reads of one moment. */
  read<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", run);
  }

  /** All or nothing; each statement sees what others committed before it. A failure of the commit itself leaves open whether it took place. */
  write<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#transaction("BEGIN ISOLATION LEVEL READ COMMITTED", run);
  }

  /** Closes the pool if it is our own, when the transactions on it have ended; a server that does not answer is not waited for. */
  async close(): Promise<void> {
    await this.#pool?.catch(() => undefined);
    if (this.#own !== undefined) await within(this.#timeoutMs, this.#own.end()).catch(ignore);
  }

  async #transaction<T>(begin: string, run: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    // A connection that breaks says so twice, and the second time nobody else listens.
    client.on("error", ignore);
    const sql: Sql = async (text, values) => (await this.#query(client, text, values)).rows as readonly Row[];
    let sound = false;
    try {
      await sql(`${begin}; ${this.#limits()}`);
      const result = await run(sql);
      await sql("COMMIT");
      sound = true;
      return result;
    } catch (error) {
      if (isRefusal(error)) sound = await rollback(sql);
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(!sound);
    }
  }

  /** The server gives up too, so that neither a process that was stopped nor a lost connection keeps anything locked. */
  #limits(): string {
    const timeout = Math.ceil(this.#timeoutMs);
    return ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"]
      .map((name) => `SET LOCAL ${name} = ${timeout}`)
      .join("; ");
  }

  #query(client: PostgresClient, text: string, values: readonly unknown[] | undefined) {
    const query = { text, types: AS_TEXT, ...(values && { values: [...values] }) };
    return within(this.#timeoutMs, client.query(query));
  }

  async #connect(): Promise<PostgresClient> {
    this.#pool ??= this.#open();
    const pool = await this.#pool;
    return within(this.#timeoutMs, pool.connect(), (client) => client.release());
  }

  async #open(): Promise<PostgresPool> {
    // Older versions export by name to CommonJS only.
    const { default: pg } = await import("pg").catch((cause: unknown) => {
      throw missingPackage("pg", cause);
    });
    const pool = new pg.Pool({ connectionString: this.#url, connectionTimeoutMillis: this.#timeoutMs });
    // An idle connection that breaks is replaced by the next call.
    pool.on("error", ignore);
    this.#own = pool;
    return pool;
  }
}

function ignore(): void {}

/** The server, or we, refused something on a connection that is sound otherwise. */
function isRefusal(error: unknown): boolean {
  return EnneadError.is(error) || codeOf(error) !== undefined;
}

async function rollback(sql: Sql): Promise<boolean> {
  return sql("ROLLBACK").then(
    () => true,
    () => false,
  );
}

/** The SQLSTATE of an error from the server. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** What to say of an error that is not ours: the message of the server, which names no values, and its code. */
export function describeFailure(error: unknown): string {
  if (error instanceof NoAnswer) return error.message;
  const code = codeOf(error);
  return [plainMessage(error), code === undefined ? "" : ` (${safeLabel(code)})`].join("");
}

/** Where every address of a host refuses, the error has no message, only a code. */
function plainMessage(error: unknown): string {
  if (!(error instanceof Error)) return "the connection failed";
  if (error.message !== "") return safeLabel(error.message);
  return "code" in error && typeof error.code === "string" ? safeLabel(error.code) : "the connection failed";
}
