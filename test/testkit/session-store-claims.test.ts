import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { SessionError } from "../../src/domain/errors.js";
import { isJsonObject } from "../../src/domain/json.js";
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
    save: async (id, session, options) => {
      const revision = await memory.save(id, session, options);
      damaged.delete(id);
      return revision;
    },
    append: (id, delta) => memory.append(id, delta),
    list: (query) => memory.list(query),
    delete: async (id) => {
      await memory.delete(id);
      damaged.delete(id);
    },
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

/** What a column of a fixed width keeps of the first text of a message. */
function cutTexts(messages: Session["messages"]): Session["messages"] {
  return messages.map((message) => {
    const part = "content" in message && message.content[0];
    if (!part || part.type !== "text" || part.text.length < 65_536) return message;
    return { ...message, content: [{ ...part, text: part.text.slice(0, 65_535) }] } as typeof message;
  });
}

/** Without what is nested deeper. */
function cutBelow(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((item) => cutBelow(item, depth - 1));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, cutBelow(field, depth - 1)]));
}

/** The same JSON with its keys in another order. */
function sorted<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted) as T;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, field]) => [key, sorted(field)])) as T;
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
    save: (id, session, options) => save(id, Object.assign({}, session, { v2: undefined }), options),
  }),
  "append-round-trip": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, messages: delta.messages.map((m) => ({ ...m, tags: undefined })) }),
  }),
  "hostile-text": ({ append }) => ({
    append: (id, { metadata, ...delta }) =>
      append(id, {
        ...delta,
        ...(metadata && { metadata: texts(metadata, (text) => text.replaceAll("\0", "").toWellFormed()) }),
      }),
  }),
  "large-text": ({ save }) => ({
    save: (id, session, options) => save(id, { ...session, messages: cutTexts(session.messages) }, options),
  }),
  "large-append": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, messages: cutTexts(delta.messages) }),
  }),
  "message-order": ({ load }) => ({
    load: async (id, known) => {
      const session = await load(id, known);
      return { ...session, messages: session.messages.toSorted((a, b) => a.at - b.at) };
    },
  }),
  "many-messages": ({ load }) => ({
    load: async (id, known) => {
      const session = await load(id, known);
      return { ...session, messages: session.messages.slice(0, 1_000) };
    },
  }),
  "huge-session": ({ load }) => ({
    load: async (id, known) => {
      const session = await load(id, known);
      return { ...session, messages: session.messages.slice(0, 65_535) };
    },
  }),
  "deep-and-wide": ({ append }) => ({
    append: (id, delta) =>
      append(id, {
        ...delta,
        ...(delta.metadata && { metadata: cutBelow(delta.metadata, 32) as Session["metadata"] }),
      }),
  }),
  "body-text": ({ load }) => ({ load: async (id, known) => sorted(await load(id, known)) }),
  "compaction-round-trip": ({ load }) => ({
    load: async (id, known) => {
      const { compaction, ...session } = await load(id, known);
      if (compaction === undefined) return session;
      return { ...session, compaction: { upTo: compaction.upTo, messages: compaction.messages } };
    },
  }),
  "frozen-input": ({ append }) => ({
    append: async (id, delta) => append(id, Object.assign(delta, { baseRevision: delta.baseRevision })),
  }),
  "input-isolation": ({ load, save, append }) => {
    const kept = new Map<string, { readonly revision: number; readonly metadata: Session["metadata"] }>();
    return {
      save: async (id, session, options) => {
        const revision = await save(id, session, options);
        kept.set(id, { revision, metadata: session.metadata });
        return revision;
      },
      append: (id, delta) => append(id, delta).finally(() => kept.delete(id)),
      load: async (id, known) => {
        const session = await load(id, known);
        const given = kept.get(id);
        return given?.revision === session.revision ? { ...session, metadata: plain(given.metadata) } : session;
      },
    };
  },
  "output-isolation": ({ load }) => {
    const cache = new Map<string, LoadedSession["messages"]>();
    return {
      load: async (id, known) => {
        const session = await load(id, known);
        if (known !== undefined) return session;
        const key = `${session.revision} ${id}`;
        const messages = cache.get(key) ?? plain(session.messages);
        cache.set(key, messages);
        return { ...session, messages };
      },
    };
  },
  "compaction-isolation": ({ load }) => {
    const cache = new Map<string, Session["compaction"]>();
    return {
      load: async (id, known) => {
        const { compaction, ...session } = await load(id, known);
        if (compaction === undefined) return session;
        const key = JSON.stringify(compaction);
        const own = cache.get(key) ?? plain(compaction);
        cache.set(key, own);
        return { ...session, compaction: own };
      },
    };
  },
  "refused-bodies": ({ save }) => ({
    save: async (id, session, options) => save(id, { ...session, messages: plain(session.messages) }, options),
  }),
  "refused-parts": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, ...(delta.metadata && { metadata: plain(delta.metadata) }) }),
  }),
  "error-text": ({ append }) => ({
    append: (id, delta) =>
      append(id, delta).catch((error: SessionError) => {
        throw new SessionError(error.kind, `could not write ${JSON.stringify(delta.metadata)}`);
      }),
  }),
  "save-conflict": ({ load, save }) => ({
    save: async (id, session, options) => {
      const ahead = await load(id).then(
        ({ revision }) => session.revision > revision,
        () => false,
      );
      return save(id, session, ahead ? { replace: true } : options);
    },
  }),
  "save-replace": ({ save }) => ({
    save: async (id, session, options) => {
      const revision = await save(id, session, options);
      return options?.replace === true ? session.revision + 1 : revision;
    },
  }),
  "save-part": ({ save }) => ({
    save: (id, session, options) => save(id, { ...session, from: undefined } as Session, options),
  }),
  "append-conflict": ({ append, load }) => ({
    append: async (id, delta) => {
      const { revision } = await load(id);
      return append(id, (delta.baseRevision ?? 0) > revision ? { ...delta, baseRevision: revision } : delta);
    },
  }),
  "append-revision": ({ append }) => ({
    append: (id, delta) => {
      const nothing = delta.messages.length === 0 && delta.metadata === undefined && delta.compaction === undefined;
      return append(id, nothing ? { ...delta, baseRevision: undefined } : delta);
    },
  }),
  "append-once": ({ append, save }) => {
    let saves = 0;
    return {
      save: (id, session, options) => save(id, session, options).finally(() => saves++),
      append: (id, delta) => append(id, { ...delta, operationId: `${saves} ${delta.operationId}` }),
    };
  },
  "append-reused": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, operationId: `${delta.messages.length} ${delta.operationId}` }),
  }),
  "operation-ids": ({ append }) => ({
    append: (id, delta) => append(id, { ...delta, operationId: delta.operationId.slice(0, 255) }),
  }),
  "patch-once": ({ append }) => ({
    append: (id, delta) =>
      append(id, delta.baseRevision === undefined && delta.metadata !== undefined ? renamed(delta) : delta),
  }),
  "patch-revision": ({ append, load }) => ({
    append: async (id, delta) => {
      const several = Object.keys(delta.metadata ?? {}).length > 1;
      const { revision } = await load(id);
      return append(id, several ? { ...delta, baseRevision: delta.baseRevision ?? revision } : delta);
    },
  }),
  "patch-unset": ({ append, load }) => ({
    append: async (id, delta) => {
      const { metadata } = await load(id);
      if (delta.unset?.every((key) => Object.hasOwn(metadata, key)) ?? true) return append(id, delta);
      throw new SessionError("save", "there is no such key");
    },
  }),
  "patch-order": ({ append }) => ({
    append: (id, { metadata, ...delta }) => {
      const kept = metadata && Object.entries(metadata).filter(([key]) => delta.unset?.includes(key) !== true);
      return append(id, { ...delta, ...(kept && { metadata: Object.fromEntries(kept) }) });
    },
  }),
  "patch-whole": ({ append, load }) => ({
    append: async (id, { metadata, ...delta }) => {
      const kept = (await load(id)).metadata;
      const merged = Object.entries(metadata ?? {}).map(([key, value]) => {
        const old = kept[key];
        const both = isJsonObject(value) && isJsonObject(old);
        return [key, both ? { ...old, ...value } : value] as const;
      });
      return append(id, { ...delta, ...(metadata && { metadata: Object.fromEntries(merged) }) });
    },
  }),
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
    // Of a long history it kept fifty marks, and takes an older one for the first of these.
    load: async (id, known) => load(id, known && Math.max(known, (await load(id)).revision - 50)),
  }),
  "known-patch": ({ load }) => {
    const seen = new Map<string, Session["metadata"]>();
    return {
      load: async (id, known) => {
        const session = await load(id, known);
        const key = `${session.revision} ${id}`;
        if (known !== session.revision || !seen.has(key)) seen.set(key, session.metadata);
        return { ...session, metadata: seen.get(key) ?? {} };
      },
    };
  },
  "save-writers": ({ load, save }) => ({
    save: async (id, session, options) => {
      const current = await load(id).then(
        ({ revision }) => session.revision === revision,
        () => false,
      );
      return save(id, session, current ? { replace: true } : options);
    },
  }),
  "append-writers": ({ append, load }) => ({
    append: async (id, delta) => {
      if ((await load(id)).revision !== delta.baseRevision) return append(id, delta);
      // Compared already, it thinks.
      return append(id, delta).catch(async (error: SessionError) => {
        if (error.kind !== "conflict") throw error;
        return (await load(id)).revision;
      });
    },
  }),
  "patch-writers": ({ append, load }) => {
    let queue: Promise<unknown> = Promise.resolve();
    return {
      append: async (id, delta) => {
        const { length } = Object.keys(delta.metadata ?? {});
        if (delta.baseRevision !== undefined || length !== 1 || delta.unset !== undefined) return append(id, delta);
        // It writes metadata as a whole, as it was when the write was asked for.
        const { metadata } = await load(id);
        const write = queue.then(async () => {
          const since = Object.keys((await load(id)).metadata).filter((key) => !Object.hasOwn(metadata, key));
          return append(id, { ...delta, metadata: { ...metadata, ...delta.metadata }, unset: since });
        });
        queue = write.catch(() => undefined);
        return write;
      },
    };
  },
  "append-at-once": ({ append }) => {
    const underWay = new Set<string>();
    return {
      append: async (id, delta) => {
        const key = `${delta.operationId} ${id}`;
        if (underWay.has(key)) throw new SessionError("conflict", "this operation is under way");
        underWay.add(key);
        await Promise.resolve();
        return append(id, delta).finally(() => underWay.delete(key));
      },
    };
  },
  "load-moment": ({ load }) => ({
    load: async (id, known) => {
      const { metadata } = await load(id, known);
      return { ...(await load(id, known)), metadata };
    },
  }),
  list: ({ list }) => ({
    list: async (query) => {
      const { items, ...rest } = await list(query);
      return { items: items.map((item) => ({ ...item, count: Math.min(item.count, 3) })), ...rest };
    },
  }),
  "list-order": ({ list, append }) => {
    const writes: string[] = [];
    return {
      append: async (id, delta) => append(id, delta).finally(() => writes.push(id)),
      list: async (query) => {
        if (query?.limit !== 1 || query.metadata !== undefined || writes.length === 0) return list(query);
        return { items: (await list({ limit: 100 })).items.toSorted((a, b) => (a.id < b.id ? 1 : -1)) };
      },
    };
  },
  // It counts what is saved, and forgets to count what is appended to it.
  "list-current": ({ list, save }) => {
    const counts = new Map<string, number>();
    return {
      save: (id, session, options) => save(id, session, options).finally(() => counts.set(id, session.messages.length)),
      list: async (query) => {
        const { items, ...rest } = await list(query);
        return { items: items.map((item) => ({ ...item, count: counts.get(item.id) ?? item.count })), ...rest };
      },
    };
  },
  "list-isolation": ({ list }) => {
    const cache = new Map<string, Session["metadata"]>();
    return {
      list: async (query) => {
        const { items, ...rest } = await list(query);
        const own = items.map((item) => {
          const key = `${item.id} ${JSON.stringify(item.metadata)}`;
          const metadata = cache.get(key) ?? plain(item.metadata);
          cache.set(key, metadata);
          return { ...item, metadata };
        });
        return { items: own, ...rest };
      },
    };
  },
  "list-patched": ({ list }) => ({
    list: async (query) => {
      const { items, ...rest } = await list(query);
      return { items: items.filter(({ revision }) => revision > 0), ...rest };
    },
  }),
  "list-filter": ({ list }) => ({
    list: async ({ metadata, ...query } = {}) => {
      if (metadata === undefined) return list(query);
      const { items } = await list({ limit: 100 });
      const wanted = Object.entries(metadata);
      return {
        items: items.filter((item) => wanted.every(([key, value]) => String(item.metadata[key]) === String(value))),
      };
    },
  }),
  "list-writes": ({ list }) => ({
    list: async ({ cursor = "0", limit = 100, metadata } = {}) => {
      const { items } = await list({ metadata, limit: 1_000 });
      if (!/^\d+$/.test(cursor)) throw new SessionError("load", "no such cursor");
      if (!Number.isSafeInteger(limit) || limit < 1) throw new SessionError("load", "no such limit");
      const end = Number(cursor) + limit;
      return { items: items.slice(Number(cursor), end), ...(end < items.length && { cursor: String(end) }) };
    },
  }),
  "list-request": ({ list }) => ({ list: async (query) => list(query).catch(() => ({ items: [] })) }),
  delete: ({ load, delete: remove }) => ({
    delete: async (id) => {
      const there = await load(id).then(
        ({ revision }) => revision > 0,
        () => true,
      );
      if (!there) throw new SessionError("save", "there is no such session");
      return remove(id);
    },
  }),
  "delete-revision": ({ load, save, append, list, delete: remove }) => {
    const names = new Map<string, string>();
    const ids = new Map<string, string>();
    const own = (id: string): string => names.get(id) ?? id;
    return {
      load: (id, known) => load(own(id), known),
      save: (id, session, options) => save(own(id), session, options),
      append: (id, delta) => append(own(id), delta),
      list: async (query) => {
        const { items, ...rest } = await list(query);
        return { items: items.map((item) => ({ ...item, id: ids.get(item.id) ?? item.id })), ...rest };
      },
      delete: async (id) => {
        await remove(own(id));
        const name = `${id} made anew ${unique++}`;
        names.set(id, name);
        ids.set(name, id);
      },
    };
  },
  "delete-operations": ({ append }) => {
    const applied = new Map<string, number>();
    return {
      append: async (id, delta) => {
        const key = `${delta.operationId} ${id}`;
        const revision = applied.get(key) ?? (await append(id, delta));
        applied.set(key, revision);
        return revision;
      },
    };
  },
  ids: ({ load, save }) => ({
    load: (id, known) => load(id.replaceAll("..", ""), known),
    save: (id, session, options) => save(id.replaceAll("..", ""), session, options),
  }),
  "huge-ids": ({ load, save, list }) => ({
    load: (id, known) => load(id.slice(0, 5_000), known),
    save: (id, session, options) => save(id.slice(0, 5_000), session, options),
    list,
  }),
  damage: ({ load }) => ({ load: (id, known) => load(id, known).catch(() => empty) }),
  "damage-healed": ({ save, load }) => ({
    save: async (id, session, options) => {
      await load(id);
      return save(id, session, options);
    },
  }),
  reopen: () => ({ reopen: () => new MemorySessionStore() }),
};

/** Claims about size, which stores that are broken elsewhere are not asked. */
const SLOW: ReadonlySet<string> = new Set(["large-text", "large-append", "huge-session"]);

describe("sessionStoreClaims", () => {
  test("hold for the sound store that the broken ones are made of", async () => {
    const { results } = await checkClaims({ claims: sessionStoreClaims, make: () => fixtureOf(() => ({})) });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  test("each have a store that breaks them", () => {
    expect(Object.keys(broken)).toEqual(sessionStoreClaims.map(({ id }) => id));
  });

  test.each(sessionStoreClaims.map(({ id }) => id))("%s alone fails where it is broken", async (id) => {
    const make = (): SessionStoreFixture => fixtureOf(broken[id] ?? (() => ({})));
    const claims = sessionStoreClaims.filter((claim) => claim.id === id || !SLOW.has(claim.id));
    const { results } = await checkClaims({ claims, make });
    expect(results.filter(({ outcome }) => outcome === "failed").map((result) => result.id)).toEqual([id]);
  });
});
