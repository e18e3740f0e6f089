import type { JsonObject } from "../../domain/json.js";
import { emptySession, type LoadedSession, type Revision, type SaveOptions } from "../../domain/session.js";
import type { SessionDelta, SessionInfo, SessionPage, SessionQuery } from "../../domain/session.js";
import { applyAppend, applySave, matchesMetadata, pageRequest, patchMetadata } from "../../domain/session-rules.js";
import { textKey } from "../../domain/text-key.js";
import type { Row, Sql } from "../databases/postgres-database.js";
import type { Tables } from "./postgres-schema.js";
import { type EncodedDelta, type EncodedSession } from "./session-text.js";
import { damaged, decodeBodies, decodeCompaction, decodeObject, keyOf } from "./stored-text.js";

/** Reads what follows `known`, or all; to be run in one read transaction. */
export async function loadSession(
  sql: Sql,
  tables: Tables,
  id: string,
  known: Revision | undefined,
): Promise<LoadedSession> {
  const [stored] = await sql(`SELECT * FROM ${tables.sessions} WHERE id = $1 AND live`, [textKey(id)]);
  if (stored === undefined) return emptySession();
  const revision = numberOf(stored, "revision");
  const count = numberOf(stored, "count");
  const from = known !== undefined && known <= revision ? await after(sql, tables, stored, known) : 0;
  const rows = await sql(
    `SELECT body FROM ${tables.messages} WHERE session = $1 AND position >= $2 ORDER BY position`,
    [stored["key"], from],
  );
  const bodies = rows.map(({ body }) => body);
  return {
    ...(stored["later_fields"] === null ? undefined : decodeObject(stored["later_fields"], "session")),
    messages: decodeBodies(bodies, count - from, from),
    metadata: decodeObject(stored["metadata"], "metadata"),
    revision,
    ...(stored["compaction"] === null ? undefined : { compaction: decodeCompaction(stored["compaction"]) }),
    ...(from === 0 ? undefined : { from }),
  };
}

/** Walks back from the end over what is new, whatever the length of the session; a save makes every message new. */
async function after(sql: Sql, { messages }: Tables, stored: Row, known: Revision): Promise<number> {
  const [last] = await sql(
    `SELECT position FROM ${messages} WHERE session = $1 AND revision <= $2 ORDER BY position DESC LIMIT 1`,
    [stored["key"], Math.floor(known)],
  );
  return last === undefined ? 0 : numberOf(last, "position") + 1;
}

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Adds the new rows and changes the session's own; to be run in one write transaction. */
export async function appendSession(
  sql: Sql,
  tables: Tables,
  id: string,
  delta: SessionDelta,
  encoded: EncodedDelta,
): Promise<Revision> {
  const stored = await locked(sql, tables, id);
  // Asked once the lock is ours: what the statement that waited for it saw is older.
  const [applied] = await sql(`SELECT revision FROM ${tables.operations} WHERE session = $1 AND operation = $2`, [
    stored["key"],
    encoded.operation,
  ]);
  const state = { ...stateOf(stored), appliedAs: applied && numberOf(applied, "revision") };
  const decision = applyAppend(id, state, delta);
  if (decision.type === "refuse") throw decision.error;
  if (decision.type === "applied") return decision.revision;

  const batches = [...batchesOf(encoded.bodies)];
  const last = batches.pop() ?? [];
  const position = await addMessages(sql, tables, { ...stored, revision: String(decision.revision) }, batches);
  await sql(
    `WITH added AS (
        INSERT INTO ${tables.messages} (session, position, revision, body)
        SELECT $1, $2::bigint + nth - 1, $3, body FROM unnest($4::text[]) WITH ORDINALITY AS new (body, nth)),
      applied AS (INSERT INTO ${tables.operations} (session, operation, revision) VALUES ($1, $5, $3))
      UPDATE ${tables.sessions} SET live = true, revision = $3, count = $2::bigint + cardinality($4::text[]),
        metadata = coalesce($6, metadata), compaction = coalesce($7, compaction),
        write_number = DEFAULT, updated_at = ${NOW}
      WHERE key = $1`,
    [
      ...[stored["key"], position, decision.revision, last, encoded.operation],
      ...[patched(stored, encoded), encoded.compaction ?? null],
    ],
  );
  return decision.revision;
}

/** Null where nothing changes. */
function patched(stored: Row, { metadata, unset }: EncodedDelta): string | null {
  if (metadata === undefined && unset.length === 0) return null;
  return JSON.stringify(patchMetadata(decodeObject(stored["metadata"], "metadata"), metadata, unset));
}

/** Rewrites all rows of the session but its operations; to be run in one write transaction. */
export async function saveSession(
  sql: Sql,
  tables: Tables,
  id: string,
  session: LoadedSession,
  options: SaveOptions,
  encoded: EncodedSession,
): Promise<Revision> {
  const stored = await locked(sql, tables, id);
  const decision = applySave(id, stateOf(stored), session, options);
  if (decision.type === "refuse") throw decision.error;
  const { revision } = decision;
  const { bodies, metadata, compaction, later } = encoded;

  await sql(`DELETE FROM ${tables.messages} WHERE session = $1`, [stored["key"]]);
  await addMessages(sql, tables, { ...stored, revision: String(revision), count: "0" }, batchesOf(bodies));
  await sql(
    `UPDATE ${tables.sessions} SET live = true, revision = $2, count = $3, metadata = $4, compaction = $5,
      later_fields = $6, write_number = DEFAULT, updated_at = ${NOW} WHERE key = $1`,
    [stored["key"], revision, bodies.length, JSON.stringify(metadata), compaction ?? null, later ?? null],
  );
  return revision;
}

/** Adds behind the `count` messages of a row, as of its revision; answers how many there are then. */
async function addMessages(
  sql: Sql,
  { messages }: Tables,
  stored: Row,
  batches: Iterable<readonly string[]>,
): Promise<number> {
  let position = numberOf(stored, "count");
  for (const batch of batches) {
    await sql(
      `INSERT INTO ${messages} (session, position, revision, body)
        SELECT $1, $2::bigint + nth - 1, $3, body FROM unnest($4::text[]) WITH ORDINALITY AS new (body, nth)`,
      [stored["key"], position, stored["revision"], batch],
    );
    position += batch.length;
  }
  return position;
}

const BATCH_UNITS = 4 * 1024 * 1024;

/** Each statement has to end within the timeout, and has a largest size; one body alone is never too large for it. */
function* batchesOf(bodies: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let units = 0;
  for (const body of bodies) {
    if (units > 0 && units + body.length > BATCH_UNITS) {
      yield batch;
      batch = [];
      units = 0;
    }
    batch.push(body);
    units += body.length;
  }
  if (batch.length > 0) yield batch;
}

/** Removes what the session held and keeps its highest revision; to be run in one write transaction. */
export async function deleteSession(sql: Sql, tables: Tables, id: string): Promise<void> {
  const [stored] = await sql(`SELECT key FROM ${tables.sessions} WHERE id = $1 AND live FOR UPDATE`, [textKey(id)]);
  if (stored === undefined) return;
  const { key } = stored;
  await sql(`DELETE FROM ${tables.messages} WHERE session = $1`, [key]);
  await sql(`DELETE FROM ${tables.operations} WHERE session = $1`, [key]);
  await sql(
    `UPDATE ${tables.sessions} SET live = false, retired = greatest(retired, revision), revision = 0, count = 0,
      metadata = '{}', compaction = NULL, later_fields = NULL WHERE key = $1`,
    [key],
  );
}

/** The session's row, which nobody else can change until the transaction ends; made where it is missing. */
async function locked(sql: Sql, { sessions }: Tables, id: string): Promise<Row> {
  const lock = `SELECT key, revision, retired, count, metadata FROM ${sessions} WHERE id = $1 FOR UPDATE`;
  const [stored] = await sql(lock, [textKey(id)]);
  if (stored !== undefined) return stored;
  await sql(`INSERT INTO ${sessions} (id) VALUES ($1) ON CONFLICT (id) DO NOTHING`, [textKey(id)]);
  const [created] = await sql(lock, [textKey(id)]);
  if (created === undefined) throw damaged("the row of the session");
  return created;
}

function stateOf(stored: Row) {
  return { revision: numberOf(stored, "revision"), retired: numberOf(stored, "retired") };
}

const PAGE_ROWS = 1_000;

/** Reads until the page is full; a filter is applied to rows as they are read. */
export async function listSessions(sql: Sql, { sessions }: Tables, query: SessionQuery): Promise<SessionPage> {
  const { limit, before } = pageRequest(query);
  const rowsAtOnce = Math.min(query.metadata === undefined ? limit + 1 : PAGE_ROWS, PAGE_ROWS);
  const items: SessionInfo[] = [];
  let next = before;
  let last = 0;
  for (;;) {
    const rows = await sql(
      `SELECT id, revision, count, metadata, updated_at, write_number FROM ${sessions}
        WHERE live AND write_number < $1 ORDER BY write_number DESC LIMIT $2`,
      [next, rowsAtOnce],
    );
    for (const row of rows) {
      next = numberOf(row, "write_number");
      const info = infoOf(row);
      if (!matchesMetadata(info.metadata, query.metadata)) continue;
      if (items.length === limit) return { items, cursor: String(last) };
      items.push(info);
      last = next;
    }
    if (rows.length < rowsAtOnce) return { items };
  }
}

function infoOf(row: Row): SessionInfo {
  return {
    id: keyOf(row["id"] ?? "", "the id of a session"),
    revision: numberOf(row, "revision"),
    count: numberOf(row, "count"),
    metadata: readable(row),
    updatedAt: numberOf(row, "updated_at"),
  };
}

/** A list must show a damaged session too; `load` reports it. */
function readable(row: Row): JsonObject {
  try {
    return decodeObject(row["metadata"], "metadata");
  } catch {
    return {};
  }
}

function numberOf(row: Row, column: string): number {
  const value = Number(row[column] ?? Number.NaN);
  if (!Number.isSafeInteger(value)) throw damaged(column);
  return value;
}
