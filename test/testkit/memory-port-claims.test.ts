import { describe, expect, test } from "vitest";
import { InMemoryMemory } from "../../src/adapters/memory/in-memory.js";
import { NoopMemory } from "../../src/adapters/memory/noop.js";
import { MemoryError } from "../../src/domain/errors.js";
import type { MemoryEntry, MemoryQuery } from "../../src/domain/memory.js";
import type { MemoryPort } from "../../src/ports/memory.js";
import {
  checkClaims,
  memoryPortClaims,
  type MemoryPortFixture,
  RecordingMemory,
  runClaims,
} from "../../src/testkit/index.js";

type Inner = Pick<MemoryPort, "store" | "search" | "delete">;
type Break = (inner: Inner) => Partial<Inner & Omit<MemoryPortFixture, "memory">>;

/** A memory that is sound but for what `broken` replaces; `damage` and `reopen` are sound too. */
function fixtureOf(broken: Break): MemoryPortFixture {
  const memory = new InMemoryMemory();
  const damaged = new Set<string>();
  const inner: Inner = {
    store: async (entry) => {
      const id = await memory.store(entry);
      damaged.delete(id);
      return id;
    },
    search: async (query) => {
      const hits = await memory.search(query);
      if (hits.some(({ id }) => damaged.has(id))) throw new MemoryError("search", "damaged");
      return hits;
    },
    delete: (id) => memory.delete(id),
  };
  const made = { ...inner, ...broken(inner) };
  const port = { store: made.store, search: made.search, delete: made.delete };
  return { damage: (id) => void damaged.add(id), reopen: () => port, ...made, memory: port };
}

/** The hits changed, the query left as it is. */
const hits =
  (change: (hits: readonly MemoryEntry[], query: MemoryQuery) => readonly MemoryEntry[]): Break =>
  ({ search }) => ({ search: async (query) => change(await search(query), query) });

/** The query changed before it is asked, where it is one. */
const asked =
  (change: (query: MemoryQuery) => MemoryQuery): Break =>
  ({ search }) => ({
    search: async (query) => search(typeof query?.query === "string" ? change(query) : query),
  });

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const words = (text: string): readonly string[] => text.split(" ");

/** For each claim one memory that breaks it and no other, as a real one once did or well might. */
const broken: Readonly<Record<string, Break>> = {
  "store-id": ({ store }) => {
    const last: string[] = [];
    return {
      store: async (entry) => {
        const id = await store(entry);
        const repeated = last.length === 1 && entry.id === undefined && entry.metadata === undefined;
        last.push(id);
        return repeated ? "mine" : id;
      },
    };
  },
  visible: ({ search }) => {
    const settled = new Set<string>();
    return {
      search: async (query) => {
        const found = await search(query);
        const late = found.filter(({ id, metadata }) => metadata["n"] === 3 && !settled.has(id));
        for (const { id } of late) settled.add(id);
        return found.length > 3 ? found : found.filter((entry) => !late.includes(entry));
      },
    };
  },
  "round-trip": hits((found) =>
    found.map((entry) => ({ ...entry, content: entry.content.replaceAll("\0", "").toWellFormed() })),
  ),
  "large-content": hits((found) => found.map((entry) => ({ ...entry, content: entry.content.slice(0, 65_535) }))),
  "memory-ids": ({ store, delete: remove }) => ({
    store: async (entry) =>
      typeof entry?.id === "string" ? store({ ...entry, id: entry.id.normalize("NFC") }) : store(entry),
    delete: (id) => remove(id.normalize("NFC")),
  }),
  "memory-long-names": ({ store, delete: remove }) => ({
    store: async (entry) =>
      typeof entry?.id === "string" && entry.id.length > 4_000
        ? store({ ...entry, id: entry.id.slice(0, 4_000) })
        : store(entry),
    delete: (id) => remove(id.slice(0, 4_000)),
  }),
  replace: ({ store, search }) => {
    const first = new Map<string, MemoryEntry["metadata"]>();
    return {
      store: async (entry) => {
        const id = await store(entry);
        if (entry.metadata?.["old"] === true) first.set(id, plain(entry.metadata));
        return id;
      },
      search: async (query) =>
        (await search(query)).map((hit) => ({ ...hit, metadata: first.get(hit.id) ?? hit.metadata })),
    };
  },
  "replace-words": ({ store, search }) => {
    const wasApple = new Set<string>();
    return {
      store: async (entry) => {
        const id = await store(entry);
        if (entry.content === "apple") wasApple.add(id);
        return id;
      },
      search: async (query) => {
        const found = await search(query);
        if (query.query !== "apple" || found.length > 0) return found;
        return (await search({ query: "pear" })).filter(({ id }) => wasApple.has(id));
      },
    };
  },
  "memory-delete": ({ delete: remove }) => ({
    delete: async (id) => {
      if (id === "never") throw new MemoryError("delete", "there is no such entry");
      return remove(id);
    },
  }),
  "stores-at-once": ({ store }) => {
    let writing = 0;
    return {
      store: async (entry) => {
        if (writing > 20) return "lost";
        writing += 1;
        const id = await store(entry);
        await Promise.resolve();
        writing -= 1;
        return id;
      },
    };
  },
  "memory-input-isolation": ({ store }) => ({
    store: async (entry) => {
      const id = await store(entry);
      await Promise.resolve();
      return typeof entry.id === "string" && entry.metadata?.["list"] !== undefined ? store(entry) : id;
    },
  }),
  "memory-output-isolation": ({ search }) => {
    const cache = new Map<string, MemoryEntry>();
    return {
      search: async (query) =>
        (await search(query)).map((hit) => {
          if (!Array.isArray(hit.metadata["list"])) return hit;
          if (!cache.has(hit.id)) cache.set(hit.id, plain(hit));
          return cache.get(hit.id) ?? hit;
        }),
    };
  },
  "refused-entries": ({ store }) => ({
    store: async (entry) => {
      if (entry?.metadata === null) return "ignored";
      return store(entry);
    },
  }),
  "refused-changes-nothing": ({ store, delete: remove }) => ({
    store: async (entry) => {
      try {
        return await store(entry);
      } catch (error) {
        await remove(entry?.id ?? "");
        throw error;
      }
    },
  }),
  "memory-damage": ({ search }) => ({ search: (query) => search(query).catch((error) => dropDamage(error)) }),
  "memory-reopen": () => ({ reopen: () => new InMemoryMemory() }),
  order: hits((found, { query }) => (query === "red apple" ? found.toReversed() : found)),
  words: ({ search }) => ({
    search: async (query) => {
      const found = await search(query);
      if (!query.query.startsWith("the ") || found.length === 0) return found;
      return [...found, { id: "appletree", content: "appletree", metadata: {}, score: 0 }];
    },
  }),
  scores: hits((found) =>
    found.map((entry) => ({ ...entry, score: (entry.score ?? 0) * (entry.content === "red" ? 100 : 1) })),
  ),
  ties: ({ search }) => {
    let asks = 0;
    return {
      search: async (query) => {
        const found = await search(query);
        asks += 1;
        const tied = found.length > 1 && found.every(({ content, id }) => content === "apple" && id.length === 1);
        return tied && asks % 2 === 0 ? found.toReversed() : found;
      },
    };
  },
  "top-k": asked((query) => ({ ...query, topK: query.topK === 0 ? 1 : query.topK })),
  "refused-queries": ({ search }) => ({
    search: async (query) => search(query?.topK === -1 ? { ...query, topK: 1 } : query),
  }),
  threshold: hits((found, { threshold }) =>
    threshold === undefined ? found : found.filter(({ score = 0 }) => score > threshold),
  ),
  "no-threshold": asked((query) =>
    query.query.length > 100 ? query : { ...query, threshold: query.threshold ?? 0.01 },
  ),
  filter: ({ search }) => ({
    search: async (query) => {
      const { filter } = query ?? {};
      // What is no filter is refused all the same.
      if (filter) await search({ ...query, topK: 0 });
      const found = await search(filter ? { ...query, filter: undefined, topK: 1_000 } : query);
      const wanted = Object.entries(filter ?? {});
      return found.filter(({ metadata }) => wanted.every(([key, value]) => String(metadata[key]) === String(value)));
    },
  }),
  "empty-query": ({ search }) => ({
    search: async (query) => {
      if (query?.query === "?!*&|:") throw new MemoryError("search", "syntax error");
      return search(query);
    },
  }),
  "query-syntax": asked((query) => ({ ...query, query: query.query.replace(/(-|NOT )\w+/g, "") })),
  "query-wildcards": asked((query) => ({ ...query, query: query.query.replace(/^zeb[*%]$/, "zebra") })),
  "long-query": asked((query) => ({ ...query, query: words(query.query).slice(0, 1_000).join(" ") })),
  scripts: asked((query) => ({ ...query, query: query.query.replace(/[\u3040-\u30ff]{3,}/, "") })),
};

function dropDamage(error: unknown): [] {
  if (error instanceof MemoryError && error.message.includes("damaged")) return [];
  throw error;
}

describe("memoryPortClaims", () => {
  test("hold for the sound memory that the broken ones are made of", async () => {
    const { results } = await checkClaims({ claims: memoryPortClaims, make: () => fixtureOf(() => ({})) });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  test("each have a memory that breaks them", () => {
    expect(Object.keys(broken)).toEqual(memoryPortClaims.map(({ id }) => id));
  });

  test.each(memoryPortClaims.map(({ id }) => id))(
    "%s fails where it is broken, and no other claim does",
    async (id) => {
      const make = () => fixtureOf(broken[id] ?? (() => ({})));
      const { results } = await checkClaims({ claims: memoryPortClaims, make });
      expect(results.filter(({ outcome }) => outcome !== "passed").map((result) => result.id)).toEqual([id]);
    },
  );
});

const gone = { missing: "nothing is kept outside this process" };

describe("RecordingMemory", () => {
  runClaims({
    test,
    claims: memoryPortClaims,
    make: () => ({ memory: new RecordingMemory() }),
    capabilities: { damage: gone, reopen: gone },
  });
});

describe("NoopMemory", () => {
  const nothing = { missing: "it keeps nothing" };
  runClaims({
    test,
    claims: memoryPortClaims,
    make: () => ({ memory: new NoopMemory() }),
    capabilities: { search: nothing, words: nothing, scripts: nothing, damage: nothing, reopen: nothing },
  });
});
