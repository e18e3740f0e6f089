import type { Sql } from "../databases/postgres-database.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import {
  MOST_LOOKED_AT,
  nearestByIndex,
  type VectorExtension,
  vectorExtension,
  type VectorIndex,
} from "./postgres-vector-index.js";
import { type EncodedFields, fieldLists } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** How many of those with these fields, where there are so many entries in all. */
export type Nearness = { readonly filter: EncodedFields; readonly limit: number; readonly entries: number };

/** So few are always compared one by one. */
const FEW = 2_000;
/** How many vectors are compared in the time in which an index finds one: of n that pass it looks at `limit * entries / n`. */
const COMPARED_PER_FOUND = 8;
/** The longest of the extension's own type. */
const LONGEST_VECTOR = 16_000;

/** The search for what is near to a vector. A vector of zeros is near to nothing. */
export class PostgresVectorSearch {
  readonly #sql: Sql;
  readonly #tables: MemoryTables;
  readonly #space: Space;
  readonly #vector: Float32Array;
  readonly #extension: VectorExtension | undefined;

  private constructor(
    sql: Sql,
    tables: MemoryTables,
    { space, vector }: Asked,
    extension: VectorExtension | undefined,
  ) {
    this.#sql = sql;
    this.#tables = tables;
    this.#space = space;
    this.#vector = vector;
    this.#extension = extension;
  }

  /** To be made and used in one read transaction. */
  static async begin(sql: Sql, tables: MemoryTables, asked: Asked): Promise<PostgresVectorSearch> {
    return new PostgresVectorSearch(sql, tables, asked, await vectorExtension(sql, tables, asked.space));
  }

  /** The nearest, with their cosines: of few those that comparing all gives, of many by the index where there is one, which may miss some. */
  async nearest({ filter, limit, entries }: Nearness): Promise<ReadonlyMap<number, number>> {
    const index = this.#indexFor(filter, limit);
    if (index === undefined) return this.#cosines(await this.#passing(filter), limit);
    const few = Math.max(FEW, Math.floor(Math.sqrt(COMPARED_PER_FOUND * limit * entries)));
    const passing = await this.#passing(filter, few + 1);
    if ((passing?.length ?? entries) <= few) return this.#cosines(passing, limit);
    const asked = { index, space: this.#space, vector: this.#vector, filter, limit };
    const found = await nearestByIndex(this.#sql, this.#tables, asked);
    return found.length < limit ? this.#cosines(await this.#passing(filter), limit) : this.#cosines(found);
  }

  /** The cosines of some entries, but for those that have none. */
  cosinesOf(keys: readonly number[]): Promise<ReadonlyMap<number, number>> {
    return this.#cosines(keys);
  }

  /** The index, where it can find as many. */
  #indexFor(filter: EncodedFields, limit: number): VectorIndex | undefined {
    const index = this.#extension?.index;
    if (index?.isThere !== true) return undefined;
    return index.scansOn || (filter.length === 0 && limit <= MOST_LOOKED_AT) ? index : undefined;
  }

  /** The entries with these fields, or so many of them; nothing where all pass. */
  async #passing(filter: EncodedFields, limit: number | null = null): Promise<readonly number[] | undefined> {
    if (filter.length === 0) return undefined;
    const { fields } = this.#tables;
    const passes =
      filter.length === 1
        ? `SELECT entry FROM ${fields} WHERE name = ($1::text[])[1] AND value = ($2::text[])[1]`
        : `SELECT entry FROM ${fields} JOIN unnest($1::text[], $2::text[]) AS f (name, value) USING (name, value)
            GROUP BY entry HAVING count(*) = cardinality($1::text[])`;
    const [row] = await this.#sql(`SELECT json_agg(entry) AS entries FROM (${passes} LIMIT $3) AS passing`, [
      ...fieldLists(filter),
      limit,
    ]);
    return JSON.parse(row?.["entries"] ?? "[]") as readonly number[];
  }

  async #cosines(among: readonly number[] | null = null, limit: number | null = null): Promise<Map<number, number>> {
    const rows = await this.#sql(
      `SELECT entry, cosine FROM (
        SELECT entry, nullif(${this.#cosine()}, 'NaN') AS cosine FROM ${this.#tables.vectors}
        WHERE space = $2 AND ($3::bigint[] IS NULL OR entry = ANY ($3::bigint[]))) AS compared
      WHERE cosine IS NOT NULL ORDER BY cosine DESC, entry DESC LIMIT $4`,
      [[...this.#vector], this.#space.key, among, limit],
    );
    return new Map(rows.map((row) => [numberIn(row, "entry"), numberIn(row, "cosine")]));
  }

  /** By the extension; without it by the server's own arithmetic, which takes many times as long. */
  #cosine(): string {
    if (this.#extension === undefined || this.#vector.length > LONGEST_VECTOR) {
      return `(SELECT sum(a::float8 * b) / nullif(sqrt(sum(a::float8 * a)) * sqrt(sum(b::float8 * b)), 0)
        FROM unnest(vector, $1::real[]) AS pair (a, b))`;
    }
    const { schema } = this.#extension;
    return `1 - (vector::${schema}.vector OPERATOR(${schema}.<=>) $1::real[]::${schema}.vector)`;
  }
}

type Asked = { readonly space: Space; readonly vector: Float32Array };
