import { MemoryError } from "../../domain/errors.js";
import type { Json } from "../../domain/json.js";
import { DEFAULT_TOP_K, type MemoryQuery } from "../../domain/memory.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { ALL, found, type MemoryPortClaim, storeAll } from "./memory-fixture.js";
import { withProto } from "./session-samples.js";

const same = (count: number): string[] => Array.from({ length: count }, (_, n) => `apple ${n}`);

/** Entries that differ in how near they are to "red apple". */
const NEAR_AND_FAR = [
  "red apple",
  "apple",
  "a red wall by the long road",
  "an apple among many other things on a table",
];

/** What comes first, how much of it, and what is left out. */
export const memorySearchClaims: readonly MemoryPortClaim[] = [
  {
    id: "order",
    title: "hits come best score first, one with all words of the query before those with some",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, "green pear", ...NEAR_AND_FAR.toReversed(), "blue plum");
      const hits = await memory.search({ query: "red apple", topK: ALL });
      expectEqual(hits[0]?.id, "red apple", "the first hit");
      const scores = hits.map(({ score }) => score ?? Number.NaN);
      expectEqual(
        scores,
        scores.toSorted((a, b) => b - a),
        "the scores",
      );
      for (const id of NEAR_AND_FAR)
        expectThat(
          hits.some((hit) => hit.id === id),
          `"${id}" is not found`,
        );
    },
  },
  {
    id: "words",
    title: "an entry with none of the words of the query is no hit",
    needs: "words",
    async check({ memory }) {
      await storeAll(memory, "red apple", "green pear", "appletree");
      expectEqual(await found(memory, "the apple"), ["red apple"], "hits");
    },
  },
  {
    id: "scores",
    title: "every score is a number within the range",
    needs: "search",
    async check({ memory, scores: [lowest, highest] = [0, 1] }) {
      await storeAll(memory, ...NEAR_AND_FAR, "apple ".repeat(1_000), "red", ...same(20));
      for (const query of ["apple", "red apple", "apple apple apple", "red apple road table wall nothing", "red"]) {
        for (const { score = Number.NaN } of await memory.search({ query, topK: ALL })) {
          expectThat(score >= lowest && score <= highest, `score ${score} of "${query}"`);
        }
      }
    },
  },
  {
    id: "ties",
    title: "equal entries keep one order, which topK only cuts",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, ...["a", "b", "c", "d", "e", "f"].map((id) => ({ id, content: "apple" })));
      const order = await found(memory, "apple");
      expectEqual([...order].sort(), ["a", "b", "c", "d", "e", "f"], "the entries");
      for (const topK of [1, 2, 3, 4, 5, 6, 6]) {
        expectEqual(await found(memory, { query: "apple", topK }), order.slice(0, topK), `topK ${topK}`);
      }
    },
  },
  {
    id: "top-k",
    title: "topK bounds the hits, 10 by default; 0 gives none, more than there are gives all",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, ...same(DEFAULT_TOP_K + 2));
      const counts: number[] = [];
      for (const topK of [undefined, 0, 1, 11, 500])
        counts.push((await memory.search({ query: "apple", topK })).length);
      expectEqual(counts, [10, 0, 1, 11, 12], "hits");
    },
  },
  {
    id: "refused-queries",
    title: "a topK that is no count, a threshold that is no number, and what is no query are a MemoryError",
    async check({ memory }) {
      const queries: unknown[] = [
        ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3"].map((topK) => ({ query: "apple", topK })),
        { query: "", topK: -1 },
        { query: "apple", threshold: Number.NaN },
        { query: "apple", threshold: "0" },
        { query: "apple", filter: null },
        ...[Number.NaN, 1n, () => 1, { deep: [Number.NaN] }].map((k) => ({ query: "apple", filter: { k } })),
        { query: 5 },
        {},
        null,
        undefined,
      ];
      for (const query of queries) {
        const what = `query ${queries.indexOf(query)}`;
        await expectRejection(() => memory.search(query as MemoryQuery), MemoryError, ["search"], what);
      }
    },
  },
  {
    id: "threshold",
    title: "a threshold keeps the hits whose score is at least that, zero and negative ones included",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, ...NEAR_AND_FAR);
      const hits = await memory.search({ query: "red apple", topK: ALL });
      const best = hits[0]?.score ?? Number.NaN;
      for (const threshold of [...hits.map(({ score = 0 }) => score), 0, -1, best + 0.001]) {
        const kept = hits.filter(({ score = Number.NaN }) => score >= threshold).map(({ id }) => id);
        expectEqual(await found(memory, { query: "red apple", threshold }), kept, `threshold ${threshold}`);
      }
      expectEqual(await found(memory, { query: "apple", threshold: -1, topK: 1 }).then((ids) => ids.length), 1, "topK");
    },
  },
  {
    id: "no-threshold",
    title: "without a threshold no hit is too far",
    needs: "search",
    async check({ memory }) {
      const far = `${"word ".repeat(2_000)}apple`;
      await storeAll(memory, ...same(20), { id: "far", content: far });
      expectThat((await found(memory, "apple and ten more words of no meaning")).includes("far"), "it is not found");
    },
  },
  {
    id: "filter",
    title: "a filter keeps entries whose keys equal it, in type and depth; topK counts after it",
    needs: "search",
    async check({ memory }) {
      const metadata = [
        { k: 5, o: { a: 1, b: [2] } },
        { k: "5" },
        { k: 5 },
        {},
        { k: null },
        { k: 5, o: { b: [2], a: 1 } },
        { k: true, ...withProto() },
        { k: "'; --", "a.b": "%" },
      ];
      await storeAll(memory, ...metadata.map((value, n) => ({ id: `e${n}`, content: "apple", metadata: value })));
      const cases: [NonNullable<MemoryQuery["filter"]>, string[]][] = [
        [{ k: 5 }, ["e0", "e2", "e5"]],
        [{ k: "5" }, ["e1"]],
        [{ k: null }, ["e4"]],
        [{ k: true }, ["e6"]],
        [{ k: 1 }, []],
        [{ o: { b: [2], a: 1 }, k: 5 }, ["e0", "e5"]],
        [{ o: { a: 1 } }, []],
        // As it would be stored: a field that is undefined is none, and a key that is undefined equals nothing.
        [{ o: { a: 1, b: [2], c: undefined as unknown as Json } }, ["e0", "e5"]],
        [{ k: undefined as unknown as Json }, []],
        [{ missing: null }, []],
        [{ toString: "x" }, ["e6"]],
        [{ ["__proto__"]: {} }, []],
        [{ ["__proto__"]: { polluted: true } }, ["e6"]],
        [{ k: "'; --", "a.b": "%" }, ["e7"]],
        [{ k: "%" }, []],
        [{}, metadata.map((_, n) => `e${n}`)],
      ];
      for (const [filter, ids] of cases) {
        const hits = await found(memory, { query: "apple", filter });
        expectEqual(hits.sort(), ids, `filter ${JSON.stringify(filter)}`);
      }
      expectEqual(await found(memory, { query: "apple", filter: { k: "5" }, topK: 1 }), ["e1"], "filter and topK");
    },
  },
];
