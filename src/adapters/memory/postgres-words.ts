import type { Row, Sql } from "../databases/postgres-database.js";
import { rarity, share } from "./bm25.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import type { Asked } from "./ranked.js";
import { searchSteps, type WeighedTerm } from "./rarest-first.js";
import { type EncodedFields, fieldLists } from "./stored-entry.js";

/** The search for some terms, with the scores of `InMemoryMemory`: the `ts_rank` of the server knows neither how rare a word is nor a scale. */
export class PostgresWordSearch {
  readonly #sql: Sql;
  readonly #tables: MemoryTables;
  readonly #filter: EncodedFields;
  readonly #averageLength: number;
  readonly #wanted: readonly WeighedTerm[];

  private constructor(
    sql: Sql,
    tables: MemoryTables,
    filter: EncodedFields,
    averageLength: number,
    wanted: readonly WeighedTerm[],
  ) {
    this.#sql = sql;
    this.#tables = tables;
    this.#filter = filter;
    this.#averageLength = averageLength;
    this.#wanted = wanted;
  }

  /** To be made and used in one read transaction. */
  static async begin(sql: Sql, tables: MemoryTables, asked: Asked): Promise<PostgresWordSearch> {
    const [totals] = await sql(`SELECT entries, terms FROM ${tables.totals}`);
    const entries = numberIn(totals, "entries");
    const terms = [...new Set(asked.terms)];
    const rows = await sql(
      `SELECT term, count(*) AS having_it FROM ${tables.terms} WHERE term = ANY ($1::text[]) GROUP BY term`,
      [terms],
    );
    const having = new Map(rows.map((row) => [row["term"] ?? "", numberIn(row, "having_it")]));
    const most = terms.reduce((sum, term) => sum + rarity(entries, having.get(term) ?? 0), 0);
    const wanted = [...having].map(([term, count]) => ({ term, weight: rarity(entries, count) / most }));
    return new PostgresWordSearch(sql, tables, asked.filter, numberIn(totals, "terms") / entries, wanted);
  }

  /** The best `limit` entries of those that pass the filter, in no order and perhaps some more. */
  async best(limit: number): Promise<ReadonlyMap<number, number>> {
    const steps = searchSteps<number, WeighedTerm>(this.#wanted, limit);
    let step = steps.next();
    while (step.done !== true) {
      const { value } = step;
      if (value.type === "scan") await this.#scan(value.term, value.found);
      step = steps.next(value.type === "scan" ? undefined : await this.scoresOf(value.keys));
    }
    return rounded(step.value);
  }

  /** The scores of some entries, but for those that have none of the terms. */
  async scoresOf(keys: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const weights = new Map(this.#wanted.map(({ term, weight }) => [term, weight]));
    const rows = await this.#sql(
      `SELECT term, entry, count, length FROM ${this.#tables.terms} WHERE term = ANY ($1::text[]) AND entry = ANY ($2::bigint[])`,
      [[...weights.keys()], keys],
    );
    const scores = new Map<number, number>();
    for (const row of rows) {
      const entry = numberIn(row, "entry");
      const part = (weights.get(row["term"] ?? "") ?? 0) * this.#share(numberIn(row, "count"), numberIn(row, "length"));
      scores.set(entry, (scores.get(entry) ?? 0) + part);
    }
    return rounded(scores);
  }

  async #scan({ term }: WeighedTerm, found: (entry: number, share: number) => void): Promise<void> {
    // Three lists in one row cost a fraction of what a row an entry does.
    const [row] = await this.#sql(
      `SELECT json_agg(entry) AS entries, json_agg(count) AS counts, json_agg(length) AS lengths FROM ${this.#tables.terms}
        WHERE term = $1 AND (cardinality($2::text[]) = 0 OR entry IN (
          SELECT entry FROM ${this.#tables.fields} JOIN unnest($2::text[], $3::text[]) AS f (name, value) USING (name, value)
          GROUP BY entry HAVING count(*) = cardinality($2::text[])))`,
      [term, ...fieldLists(this.#filter)],
    );
    const [counts, lengths] = [listIn(row, "counts"), listIn(row, "lengths")];
    for (const [n, entry] of listIn(row, "entries").entries())
      found(entry, this.#share(counts[n] ?? 0, lengths[n] ?? 0));
  }

  #share(count: number, length: number): number {
    return share(count, length, this.#averageLength);
  }
}

function listIn(row: Row | undefined, column: string): readonly number[] {
  return JSON.parse(row?.[column] ?? "[]") as readonly number[];
}

/** Equal entries must have equal scores, in whatever order their parts were added. */
function rounded(scores: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
  return new Map([...scores].map(([entry, score]) => [entry, Math.round(score * 1e12) / 1e12]));
}
