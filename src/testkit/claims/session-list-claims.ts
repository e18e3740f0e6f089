import { SessionError } from "../../domain/errors.js";
import type { SessionInfo, SessionQuery } from "../../domain/session.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { appendTo, listAll, listOf, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note } from "./session-samples.js";
import { spoil } from "./spoil.js";

/** A list shows what there is, also while others write. */
export const sessionListClaims: readonly SessionStoreClaim[] = [
  {
    id: "list",
    title: "a list shows every session once over all its pages, latest write first, with revision, count and metadata",
    needs: "list",
    async check({ store }) {
      for (const n of [1, 2, 3, 4, 5]) {
        const messages = Array.from({ length: n }, (_, i) => note(`m${i}`));
        await store.save(`s${n}`, { messages, metadata: { n }, revision: 0 });
      }
      const { revision } = await loadFrom(store, "s1");
      const shown = await listAll(store, { limit: 2 });
      expectEqual(
        [...shown].sort((a, b) => a.count - b.count).map(({ updatedAt: _, ...info }) => info),
        [1, 2, 3, 4, 5].map((n) => ({ id: `s${n}`, revision, count: n, metadata: { n } })),
        "sessions",
      );
      const times = shown.map(({ updatedAt }) => updatedAt);
      expectEqual(
        times,
        times.toSorted((a, b) => b - a),
        "the times of a list",
      );
      expectEqual(await listAll(store, {}), shown, "one page and many pages");
    },
  },
  {
    id: "list-order",
    title: "whatever was written last comes first, by an append and a patch too",
    needs: "list",
    async check({ store }) {
      for (const id of ["a", "b", "c"]) await store.save(id, { messages: [], metadata: {}, revision: 0 });
      const shown = async (): Promise<string[]> => (await listAll(store, { limit: 1 })).map(({ id }) => id);
      expectEqual(await shown(), ["c", "b", "a"], "after the saves");
      if (store.append === undefined) return;
      const { revision } = await loadFrom(store, "b");
      await store.append("b", deltaOf("o", revision, [note("m")]));
      expectEqual(await shown(), ["b", "c", "a"], "after an append");
      await store.append("a", deltaOf("p", undefined, [], { metadata: { title: "new" } }));
      expectEqual(await shown(), ["a", "b", "c"], "after a patch");
    },
  },
  {
    id: "list-current",
    title:
      "a list shows revision, count and metadata as the last append, patch or save left them, and filters by these",
    needs: "list",
    async check({ store }) {
      const list = listOf(store);
      const expectListed = async (what: string, count: number): Promise<void> => {
        const { revision, metadata } = await loadFrom(store, "s");
        for (const query of [{}, { metadata }]) {
          const [{ updatedAt, ...info } = {}] = (await list(query)).items;
          expectEqual(info, { id: "s", revision, count, metadata }, `what is listed after ${what}`);
          expectThat(Number.isFinite(updatedAt), `updatedAt after ${what} is no number`);
        }
        expectEqual((await list({ metadata: { k: "never" } })).items, [], `what a filter finds after ${what}`);
      };
      const first = await store.save("s", { messages: [note("a")], metadata: { k: 1 }, revision: 0 });
      await expectListed("a save", 1);
      const append = store.append?.bind(store);
      await append?.("s", deltaOf("o", first, [note("b"), note("c")], { metadata: { k: 2, gone: 1 } }));
      if (append !== undefined) await expectListed("an append", 3);
      await append?.("s", deltaOf("p", undefined, [], { metadata: { k: 3 }, unset: ["gone"] }));
      if (append !== undefined) await expectListed("a patch", 3);
      const { revision } = await loadFrom(store, "s");
      await store.save("s", { messages: [note("z")], metadata: { other: 1 }, revision });
      expectEqual((await loadFrom(store, "s")).metadata, { other: 1 }, "metadata after a save without the old keys");
      await expectListed("another save", 1);
    },
  },
  {
    id: "list-isolation",
    title: "changing what was listed, or failing to, changes nothing that is stored or listed later",
    needs: "list",
    async check({ store }) {
      const list = listOf(store);
      const metadata = { tags: ["a"], owner: { name: "ann" } };
      await store.save("s", { messages: [note("m")], metadata, revision: 0 });
      const [session, first] = [await loadFrom(store, "s"), await list({})];
      const expected = structuredClone(first);
      spoil(first);
      expectEqual(await list({}), expected, "the list after somebody changed one");
      expectEqual(await loadFrom(store, "s"), session, "the session after somebody changed a list");
    },
  },
  {
    id: "list-patched",
    title: "a session that a patch alone has made is listed with revision 0 and without messages",
    needs: "append",
    async check({ store }) {
      await appendTo(store)("s", deltaOf("p", undefined, [], { metadata: { title: "new" } }));
      if (store.list === undefined) return;
      const [{ updatedAt: _, ...info }] = (await listAll(store, {})) as [SessionInfo];
      expectEqual(info, { id: "s", revision: 0, count: 0, metadata: { title: "new" } }, "what is listed");
    },
  },
  {
    id: "list-filter",
    title: "a list with metadata shows the sessions whose keys equal it, in type and depth, page by page",
    needs: "list",
    async check({ store }) {
      const metadata = [
        { k: 5, o: { a: 1, b: [2] } },
        { k: "5" },
        { k: 5 },
        {},
        { k: null },
        { k: 5, o: { b: [2], a: 1 } },
      ];
      for (const [n, value] of metadata.entries()) {
        await store.save(`s${n}`, { messages: [], metadata: value, revision: 0 });
      }
      const shown = async (filter: SessionQuery["metadata"]): Promise<string[]> =>
        (await listAll(store, { metadata: filter, limit: 1 })).map(({ id }) => id).sort();
      expectEqual(await shown({ k: 5 }), ["s0", "s2", "s5"], "k = 5");
      expectEqual(await shown({ k: null }), ["s4"], "k = null");
      expectEqual(await shown({ o: { b: [2], a: 1 }, k: 5 }), ["s0", "s5"], "two keys");
      expectEqual(await shown({ ["__proto__"]: {} }), [], "a key nobody set");
    },
  },
  {
    id: "list-writes",
    title: "a list that is written to between its pages shows no session twice and each that nobody touched once",
    needs: "list",
    async check({ store }) {
      const list = listOf(store);
      const empty = { messages: [], metadata: {}, revision: 0 };
      for (let n = 0; n < 12; n++) await store.save(`s${n}`, empty);
      const shown: string[] = [];
      for (let page = await list({ limit: 3 }), n = 0; ; n++) {
        shown.push(...page.items.map(({ id }) => id));
        if (page.cursor === undefined) break;
        expectThat(n < 12, "the pages of a list do not end");
        await store.save(`new${n}`, empty);
        await store.save("s11", await loadFrom(store, "s11"));
        if (n === 0) await store.save("s0", await loadFrom(store, "s0"));
        if (n === 0) await store.delete?.("s8");
        page = await list({ limit: 3, cursor: page.cursor });
      }
      expectThat(new Set(shown).size === shown.length, `a session is shown twice: ${shown.join(" ")}`);
      for (const n of [1, 2, 3, 4, 5, 6, 7, 9, 10]) expectThat(shown.includes(`s${n}`), `s${n} is not shown`);
    },
  },
  {
    id: "list-request",
    title: "a limit below one and a cursor no page gave are a SessionError",
    needs: "list",
    async check({ store }) {
      const list = listOf(store);
      for (const query of [{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { cursor: "'; drop" }]) {
        await expectRejection(() => list(query), SessionError, ["load"], `list ${JSON.stringify(query)}`);
      }
    },
  },
];
