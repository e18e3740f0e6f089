import { randomUUID } from "node:crypto";
import { SessionError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import { emptySession, type LoadedSession, type Revision, type SaveOptions } from "../../domain/session.js";
import type { SessionDelta, SessionInfo, SessionPage, SessionQuery } from "../../domain/session.js";
import {
  applyAppend,
  applySave,
  matchesMetadata,
  pageRequest,
  type StoredState,
  type WriteDecision,
} from "../../domain/session-rules.js";
import { textKey } from "../../domain/text-key.js";
import type { RedisConnection, ScriptName } from "./redis-connection.js";
import { KEY_NAMES } from "./redis-scripts.js";
import type { EncodedDelta, EncodedSession } from "./session-text.js";
import { damaged, decodeBodies, decodeCompaction, decodeFields, decodeObject, keyOf } from "./stored-text.js";

/** The sessions under a prefix. */
export class RedisSessions {
  readonly #connection: RedisConnection;
  readonly #prefix: string;

  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** What follows `known`, or all, of one moment. */
  async load(id: string, known: Revision | undefined): Promise<LoadedSession> {
    const answer = await this.#run("load", id, [known === undefined ? "" : String(Math.floor(known))]);
    if (answer[0] === "none") return emptySession();
    const [, revision, total, first, compaction, later, fields, bodies] = answer;
    const from = numberOf(first, "the count of messages");
    const count = numberOf(total, "the count of messages");
    return {
      ...(later === "" ? undefined : decodeObject(later, "session")),
      messages: decodeBodies(listOf(bodies), count - from, from),
      metadata: metadataOf(listOf(fields)),
      revision: numberOf(revision, "the revision"),
      ...(compaction === "" ? undefined : { compaction: decodeCompaction(compaction) }),
      ...(from === 0 ? undefined : { from }),
    };
  }

  /** The script decides; a refusal is worded by the rules all stores share. */
  async append(id: string, delta: SessionDelta, encoded: EncodedDelta): Promise<Revision> {
    const { operation, bodies, unset, metadata = {}, compaction = "" } = encoded;
    const base = delta.baseRevision === undefined ? "" : String(delta.baseRevision);
    const counts = [String(bodies.length), String(unset.length)];
    const lists = [bodies, unset.map(textKey), pairsOf(metadata)].flat();
    const answer = await this.#run("append", id, [textKey(id), operation, base, compaction, ...counts].concat(lists));
    return revisionOf(answer, (state) => applyAppend(id, state, delta));
  }

  /** Like `append`, for a whole session. */
  async save(id: string, session: LoadedSession, options: SaveOptions, encoded: EncodedSession): Promise<Revision> {
    const decision = applySave(id, { revision: session.revision }, session, options);
    if (decision.type === "refuse") throw decision.error;
    const { bodies, metadata, compaction = "", later = "" } = encoded;
    const base = options.replace === true ? "" : String(session.revision);
    const head = [textKey(id), randomUUID(), base, compaction, later, String(bodies.length)];
    const answer = await this.#run("save", id, head.concat(bodies, pairsOf(metadata)));
    return revisionOf(answer, (state) => applySave(id, state, session, options));
  }

  async delete(id: string): Promise<void> {
    await this.#run("delete", id, [textKey(id)]);
  }

  /** Reads until the page is full; a filter is applied to sessions as they are read. */
  async list(query: SessionQuery): Promise<SessionPage> {
    const { limit, before } = pageRequest(query);
    const atOnce = Math.min(query.metadata === undefined ? limit + 1 : MOST_AT_ONCE, MOST_AT_ONCE);
    const items: SessionInfo[] = [];
    let last = 0;
    for (let next = before; ; ) {
      const page = await this.#page(next, atOnce);
      for (const { info, number } of await this.#infos(page)) {
        if (!matchesMetadata(info.metadata, query.metadata)) continue;
        if (items.length === limit) return { items, cursor: String(last) };
        items.push(info);
        last = number;
      }
      const end = page.at(-1);
      if (end === undefined || page.length < atOnce) return { items };
      next = end.number;
    }
  }

  async #page(before: number, count: number): Promise<Place[]> {
    const flat = listOf(await this.#connection.run("page", [this.#key("index")], [String(before), String(count)]));
    return pairsIn(flat).map(([key, number]) => ({ key, number: numberOf(number, "the index of sessions") }));
  }

  /** Leaves out a session that was deleted since the page was read. */
  async #infos(page: readonly Place[]): Promise<{ readonly info: SessionInfo; readonly number: number }[]> {
    if (page.length === 0) return [];
    const keys = page.flatMap(({ key }) => [this.#key(`session:${key}`), this.#key(`metadata:${key}`)]);
    const answers = listOf(await this.#connection.run("infos", keys, []));
    return page.flatMap(({ key, number }, n) => {
      const [live, revision, count, updated, fields] = listOf(answers[n]);
      if (live === "") return [];
      const info = {
        id: keyOf(key, "the id of a session"),
        revision: readableNumber(revision),
        count: readableNumber(count),
        metadata: readableMetadata(listOf(fields)),
        updatedAt: readableNumber(updated),
      };
      return [{ info, number }];
    });
  }

  async #run(name: ScriptName, id: string, args: readonly string[]): Promise<readonly unknown[]> {
    const own = KEY_NAMES.map((kind) => this.#key(`${kind}:${textKey(id)}`));
    const answer = listOf(await this.#connection.run(name, [...own, this.#key("index"), this.#key("writes")], args));
    if (answer[0] === "damaged") throw damaged("what is kept of the session's own");
    if (answer[0] === "newer") {
      const text = `it has format ${safeLabel(String(answer[1]))}, which this version of the package cannot read`;
      throw new SessionError(name === "load" ? "load" : "save", text);
    }
    return answer;
  }

  #key(name: string): string {
    return `${this.#prefix}${name}`;
  }
}

type Place = { readonly key: string; readonly number: number };

const MOST_AT_ONCE = 500;

/** The revision a script wrote or found applied; a refusal throws what `decide` makes of the state the script saw. */
function revisionOf(answer: readonly unknown[], decide: (state: StoredState) => WriteDecision): Revision {
  const [status, revision, retired, applied] = answer;
  if (status === "written") return numberOf(revision, "the revision");
  const state = { revision: numberOf(revision, "the revision"), retired: numberOf(retired, "the revision") };
  const decision = decide(
    applied === undefined ? state : { ...state, appliedAs: numberOf(applied, "the revision of an operation") },
  );
  if (decision.type === "refuse") throw decision.error;
  return decision.revision;
}

function pairsOf(metadata: JsonObject): string[] {
  return Object.entries(metadata).flatMap(([name, value]) => [textKey(name), JSON.stringify(value)]);
}

function pairsIn(flat: readonly unknown[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let n = 0; n + 1 < flat.length; n += 2) pairs.push([String(flat[n]), String(flat[n + 1])]);
  return pairs;
}

/** Keys in the order in which they were first set, which the server does not keep. */
function metadataOf(flat: readonly unknown[]): JsonObject {
  return decodeFields(
    pairsIn(flat)
      .map(([name, value]) => {
        const space = value.indexOf(" ");
        return { name, place: numberOf(value.slice(0, Math.max(space, 0)), name), body: value.slice(space + 1) };
      })
      .sort((a, b) => a.place - b.place)
      .map(({ name, body }) => [name, body] as const),
  );
}

/** A list must show a damaged session too: what cannot be read is left out, `load` reports it. */
function readableMetadata(flat: readonly unknown[]): JsonObject {
  try {
    return metadataOf(flat);
  } catch {
    return {};
  }
}

function readableNumber(value: unknown): number {
  return Number.isSafeInteger(Number(value)) ? Number(value) : 0;
}

function numberOf(value: unknown, what: string): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw damaged(what);
  return number;
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw damaged("an answer of the server");
  return value;
}
