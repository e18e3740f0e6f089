import type { Row, Sql } from "../databases/postgres-database.js";
import { rarity, share } from "./bm25.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import type { Asked } from "./ranked.js";
import { roundedScore, searchSteps, type WeighedTerm, type Wished } from "./rarest-first.js";
import { type EncodedFields, fieldLists } from "./stored-entry.js";

type Wanted = WeighedTerm & { readonly having: number };

/** The entries of a term that has fewer are looked at one by one for the fields of a filter. */
const FEW = 1_000;

/** The search for some terms, with the scores of `InMemoryMemory`: the `ts_rank` of the server knows neither how rare a word is nor a scale. */
export class PostgresWordSearch {
  /** How many entries there are in all. */
  readonly entries: number;
  readonly #sql: Sql;
  readonly #tables: MemoryTables;
  readonly #filter: EncodedFields;
  readonly #averageLength: number;
  readonly #wanted: readonly Wanted[];

  private constructor(
    sql: Sql,
    tables: MemoryTables,
    filter: EncodedFields,
    { entries, averageLength }: { readonly entries: number; readonly averageLength: number },
    wanted: readonly Wanted[],
  ) {
    this.entries = entries;
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
    const averageLength = numberIn(totals, "terms") / entries;
    const rows = await sql(
      `SELECT term, entries, most, shortest FROM ${tables.frequencies} WHERE term = ANY ($1::text[])`,
      [terms],
    );
    const known = rows.map((row) => {
      const having = numberIn(row, "entries");
      return {
        term: row["term"] ?? "",
        having,
        highest: share(numberIn(row, "most"), numberIn(row, "shortest"), averageLength),
      };
    });
    const unknown = (terms.length - known.length) * rarity(entries, 0);
    const most = known.reduce((sum, { having }) => sum + rarity(entries, having), unknown);
    const wanted = known.map((term) => ({ ...term, weight: rarity(entries, term.having) / most }));
    return new PostgresWordSearch(sql, tables, asked.filter, { entries, averageLength }, wanted);
  }

  /** The best entries of those that pass the filter, in no order and perhaps some more. */
  async best(wished: Wished): Promise<ReadonlyMap<number, number>> {
    const steps = searchSteps<Wanted>(this.#wanted, wished);
    let step = steps.next();
    while (step.done !== true) {
      const { value } = step;
      if (value.type === "scan") await this.#scan(value.term, value.found);
      step = steps.next(value.type === "scan" ? undefined : await this.#scoresOf(value.keys, value.terms));
    }
    return step.value;
  }

  /** The scores of some entries, but for those that have none of the terms. */
  async scoresOf(keys: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const scores = await this.#scoresOf(keys, this.#wanted);
    return new Map([...scores].map(([entry, score]) => [entry, roundedScore(score)]));
  }

  async #scoresOf(keys: readonly number[], terms: readonly Wanted[]): Promise<ReadonlyMap<number, number>> {
    const weights = new Map(terms.map(({ term, weight }) => [term, weight]));
    // OFFSET 0: by the primary key, which the server thinks would take longer than all terms of each entry.
    const rows = await this.#sql(
      `SELECT term, entry, count, length FROM unnest($1::text[]) AS t (term), unnest($2::bigint[]) AS e (entry), LATERAL (
        SELECT count, length FROM ${this.#tables.postings} AS p WHERE p.term = t.term AND p.entry = e.entry OFFSET 0) AS p`,
      [[...weights.keys()], keys],
    );
    const scores = new Map<number, number>();
    for (const row of rows) {
      const entry = numberIn(row, "entry");
      const part = (weights.get(row["term"] ?? "") ?? 0) * this.#share(numberIn(row, "count"), numberIn(row, "length"));
      scores.set(entry, (scores.get(entry) ?? 0) + part);
    }
    return scores;
  }

  async #scan({ term, having }: Wanted, found: (entry: number, share: number) => void): Promise<void> {
    const { postings, fields } = this.#tables;
    const same = `${fields} JOIN unnest($2::text[], $3::text[]) AS f (name, value) USING (name, value)`;
    const passes =
      having <= FEW
        ? `(SELECT count(*) FROM ${same} WHERE entry = p.entry) = cardinality($2::text[])`
        : `entry IN (SELECT entry FROM ${same} GROUP BY entry HAVING count(*) = cardinality($2::text[]))`;
    // Three lists in one row cost a fraction of what a row an entry does.
    const [row] = await this.#sql(
      `SELECT json_agg(entry) AS entries, json_agg(count) AS counts, json_agg(length) AS lengths
        FROM ${postings} AS p WHERE term = $1 AND (cardinality($2::text[]) = 0 OR ${passes})`,
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
