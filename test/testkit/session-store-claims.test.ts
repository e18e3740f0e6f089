import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { SessionError } from "../../src/domain/errors.js";
import type { LoadedSession, Session, SessionDelta } from "../../src/domain/session.js";
import { checkClaims, sessionStoreClaims, type SessionStoreFixture } from "../../src/testkit/claims/index.js";

type Inner = Required<Omit<MemorySessionStore, "name">>;
type Break = (inner: Inner) => Partial<Inner & Omit<SessionStoreFixture, "store">>;

/** A store over memory that is sound but for what `broken` replaces; `damage` and `reopen` are sound too. */
function fixtureOf(broken: Break): SessionStoreFixture {
  const memory = new MemorySessionStore();
  const damaged = new Set<string>();
  const inner: Inner = {
    load: async (id, known) => {
      if (damaged.has(id)) throw new SessionError("corrupt", "damaged");
      return memory.load(id, known);
    },
    save: (id, session, options) => memory.save(id, session, options),
    append: (id, delta) => memory.append(id, delta),
    list: (query) => memory.list(query),
    delete: (id) => memory.delete(id),
  };
  const store = { ...inner, ...broken(inner) };
  return { store, damage: (id) => void damaged.add(id), reopen: () => store, ...store };
}

/** Every text of a session changed, keys included. */
function texts<T extends object>(value: T, change: (text: string) => string): T {
  const walk = (item: unknown): unknown => {
    if (typeof item === "string") return change(item);
    if (typeof item !== "object" || item === null) return item;
    if (Array.isArray(item)) return item.map(walk);
    return Object.fromEntries(Object.entries(item).map(([key, field]) => [change(key), walk(field)]));
  };
  return walk(value) as T;
}

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const empty: Session = { messages: [], metadata: {}, revision: 0 };
let unique = 0;
const renamed = (delta: SessionDelta): SessionDelta => ({ ...delta, operationId: `o${unique++}` });

/** For each claim one store that breaks it, as a real one once did or well might. */
const broken: Readonly<Record<string, Break>> = {
  "unknown-id": ({ load }) => ({
    load: async (id, known) => ({
      ...(await load(id, known)),
      ...(id === "nobody" ? { metadata: { created: 1 } } : {}),
    }),
  }),
  "save-round-trip": ({ save }) => ({
    save: (id, { messages, metadata, revision }, options) => save(id, { messages, metadata, revision }, options),
  }),
  "append-round-trip": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, messages: delta.messages.map((m) => ({ ...m, tags: undefined })) }),
  }),
  "hostile-text": ({ append }) => ({
    append: (id, delta) =>
      append(
        id,
        texts(delta, (text) => text.replaceAll("\0", "").toWellFormed()),
      ),
  }),
  "large-text": ({ load }) => ({ load: async (id) => texts(await load(id), (text) => text.slice(0, 65_535)) }),
  "input-isolation": ({ load, save }) => {
    const kept = new Map<string, Session>();
    return {
      save: async (id, session, options) => save(id, session, options).finally(() => kept.set(id, session)),
      load: async (id) => kept.get(id) ?? load(id),
    };
  },
  "output-isolation": ({ load }) => {
    const cache = new Map<string, LoadedSession>();
    return { load: async (id) => cache.get(id) ?? cache.set(id, plain(await load(id))).get(id) ?? empty };
  },
  "refused-bodies": ({ save }) => ({ save: async (id, session, options) => save(id, plain(session), options) }),
  "save-conflict": ({ save }) => ({ save: (id, session) => save(id, session, { replace: true }) }),
  "save-replace": ({ save }) => ({ save: (id, session) => save(id, session) }),
  "save-part": ({ save }) => ({
    save: (id, session, options) => save(id, { ...session, from: undefined } as Session, options),
  }),
  "append-conflict": ({ append, load }) => ({
    append: async (id, delta) => {
      const { revision } = await load(id);
      return append(id, delta.baseRevision === undefined ? delta : { ...delta, baseRevision: revision });
    },
  }),
  "append-revision": ({ append }) => ({
    append: (id, delta) => append(id, delta.messages.length > 0 ? delta : { ...delta, baseRevision: undefined }),
  }),
  "append-once": ({ append }) => {
    const last = new Map<string, string>();
    return {
      append: (id, delta) => {
        const repeated = last.get(id) === delta.operationId;
        last.set(id, delta.operationId);
        return append(id, repeated ? delta : renamed(delta));
      },
    };
  },
  "patch-once": ({ append }) => ({
    append: (id, delta) => append(id, delta.baseRevision === undefined ? renamed(delta) : delta),
  }),
  "patch-revision": ({ append, load }) => ({
    append: async (id, delta) =>
      append(id, { ...delta, baseRevision: delta.baseRevision ?? (await load(id)).revision }),
  }),
  "patch-unset": ({ append }) => ({ append: (id, delta) => append(id, { ...delta, unset: undefined }) }),
  "patch-only": ({ append, load }) => ({
    append: async (id, delta) => {
      const { revision } = await load(id);
      return append(
        id,
        delta.messages.length === 0 ? delta : { ...delta, baseRevision: delta.baseRevision ?? revision },
      );
    },
  }),
  compaction: ({ load }) => ({
    load: async (id, known) => {
      const { compaction, ...session } = await load(id, known);
      return known === undefined && compaction !== undefined ? { ...session, compaction } : session;
    },
  }),
  known: ({ load }) => ({
    load: async (id, known) => {
      const whole = await load(id);
      const from = known === undefined ? 0 : Math.min(known, whole.messages.length);
      return { ...whole, messages: whole.messages.slice(from), from };
    },
  }),
  "save-writers": ({ load, save }) => ({
    save: async (id, session, options) => {
      const stored = await load(id);
      return save(id, session, stored.revision === session.revision ? { replace: true } : options);
    },
  }),
  "append-writers": ({ append, load, save }) => ({
    append: async (id, delta) => {
      const stored = await load(id);
      if (stored.revision !== delta.baseRevision) return append(id, delta);
      return save(id, { ...stored, messages: [...stored.messages, ...delta.messages] }, { replace: true });
    },
  }),
  ids: ({ load, save }) => ({
    load: (id, known) => load(id.replaceAll("..", ""), known),
    save: (id, session, options) => save(id.replaceAll("..", ""), session, options),
  }),
  list: ({ list }) => ({ list: async (query) => ({ items: (await list(query)).items }) }),
  "list-filter": ({ list }) => ({
    list: async ({ metadata, ...query } = {}) => {
      const { items } = await list({ ...query, limit: 100 });
      const wanted = Object.entries(metadata ?? {});
      return {
        items: items.filter((item) => wanted.every(([key, value]) => String(item.metadata[key]) === String(value))),
      };
    },
  }),
  "list-request": ({ list }) => ({ list: async (query) => list(query).catch(() => ({ items: [] })) }),
  delete: () => ({ delete: async () => undefined }),
  "delete-revision": () => {
    let memory = new MemorySessionStore();
    return {
      load: (id, known) => memory.load(id, known),
      save: (id, session, options) => memory.save(id, session, options),
      append: (id, delta) => memory.append(id, delta),
      list: (query) => memory.list(query),
      delete: async (id) => {
        const kept = memory;
        memory = new MemorySessionStore();
        for (const { id: other } of (await kept.list()).items) {
          if (other !== id) await memory.save(other, await kept.load(other), { replace: true });
        }
      },
    };
  },
  damage: ({ load }) => ({ load: (id, known) => load(id, known).catch(() => empty) }),
  reopen: () => ({ reopen: () => new MemorySessionStore() }),
};

describe("sessionStoreClaims", () => {
  test("hold for the sound store that the broken ones are made of", async () => {
    const { results } = await checkClaims({ claims: sessionStoreClaims, make: () => fixtureOf(() => ({})) });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  test("each have a store that breaks them", () => {
    expect(Object.keys(broken)).toEqual(sessionStoreClaims.map(({ id }) => id));
  });

  test.each(sessionStoreClaims.map((claim) => [claim.id, claim] as const))(
    "%s fails where it is broken",
    async (id, claim) => {
      const { results } = await checkClaims({ claims: [claim], make: () => fixtureOf(broken[id] ?? (() => ({}))) });
      expect(results).toMatchObject([{ id, outcome: "failed" }]);
    },
  );
});
