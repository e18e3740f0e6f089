import { CompositionError } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import type { PostgresPool } from "./postgres-database.js";
import { timeoutOf } from "./within.js";

/**
 * Either the `url` of a database, or a `pool` of `pg`, which stays the caller's. `schema` holds our tables, `ennead` by default, and is made
 * where it is missing. `timeoutMs` bounds each call on the network, 10,000 by default.
 */
export type PostgresOptions = ({ readonly url: string } | { readonly pool: PostgresPool }) & {
  readonly schema?: string | undefined;
  readonly timeoutMs?: number | undefined;
};

/** Where the database is, checked. */
export type PostgresPlace = {
  readonly source: { readonly url: string } | { readonly pool: PostgresPool };
  readonly schema: string;
  readonly timeoutMs: number;
};

type Given = Readonly<Partial<Record<"url" | "pool" | "schema" | "timeoutMs", unknown>>>;

/** Throws `CompositionError("invalid-config")`, which says `what` needs, for options that name no database, no schema or no duration. */
export function postgresPlace(what: string, options: PostgresOptions, more: readonly string[] = []): PostgresPlace {
  checkFields(what, options, ["url", "pool", "schema", "timeoutMs", ...more]);
  const { schema = "ennead", timeoutMs, url, pool }: Given = options;
  if (typeof schema !== "string") throw new CompositionError("invalid-config", "schema is the name of a schema");
  const rest = { schema, timeoutMs: timeoutOf(timeoutMs) };
  if (isPool(pool)) return { source: { pool }, ...rest };
  if (isPostgresUrl(url)) return { source: { url }, ...rest };
  // The URL may hold a password, so no part of it is in the text.
  throw new CompositionError("invalid-config", `${what} needs { url: postgres://... } or { pool } of the package pg`);
}

function isPool(pool: unknown): pool is PostgresPool {
  return typeof pool === "object" && pool !== null && "connect" in pool && typeof pool.connect === "function";
}

function isPostgresUrl(url: unknown): url is string {
  return typeof url === "string" && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}
