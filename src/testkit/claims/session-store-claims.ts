import { SessionError } from "../../domain/errors.js";
import type { SessionInfo, SessionQuery } from "../../domain/session.js";
import type { SessionStore } from "../../ports/session-store.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { sessionBodyClaims } from "./session-body-claims.js";
import { appendTo, listOf, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, HOSTILE_IDS, note } from "./session-samples.js";
import { sessionWriteClaims } from "./session-write-claims.js";

const WRITERS = 50;
/** Each conflict of one writer is the success of another, so fair stores need far fewer. */
const ATTEMPTS = 1_000;

const sessionPlaceClaims: readonly SessionStoreClaim[] = [
  {
    id: "save-writers",
    title: "fifty writers that save at once and retry on conflict lose nothing",
    async check({ store }) {
      await Promise.all(
        writers(async (id) => {
          const session = await store.load("s");
          await store.save("s", { ...session, messages: [...session.messages, note(id)] });
        }),
      );
      await expectAllWriters(store);
    },
  },
  {
    id: "append-writers",
    title: "fifty writers that append at once and retry on conflict lose nothing",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await Promise.all(
        writers(async (id) => {
          const { revision } = await store.load("s");
          await append("s", deltaOf(id, revision, [note(id)]));
        }),
      );
      await expectAllWriters(store);
      expectEqual((await store.load("s")).revision, WRITERS, "revision");
    },
  },
  {
    id: "ids",
    title: "every id keeps a session of its own, whatever it looks like",
    async check({ store }) {
      for (const id of HOSTILE_IDS) await store.save(id, { messages: [note(`of ${id}`)], metadata: {}, revision: 0 });
      for (const id of HOSTILE_IDS) expectEqual((await store.load(id)).messages, [note(`of ${id}`)], `session "${id}"`);
      if (store.list !== undefined)
        expectEqual((await listAll(store, {})).map(({ id }) => id).sort(), [...HOSTILE_IDS].sort(), "list");
      if (store.delete === undefined) return;
      for (const id of HOSTILE_IDS.slice(1)) await store.delete(id);
      expectEqual((await store.load("../evil")).messages, [note("of ../evil")], "the session not deleted");
    },
  },
  {
    id: "list",
    title: "a list shows every session once over all its pages, latest write first, with revision, count and metadata",
    needs: "list",
    async check({ store }) {
      for (const n of [1, 2, 3, 4, 5]) {
        const messages = Array.from({ length: n }, (_, i) => note(`m${i}`));
        await store.save(`s${n}`, { messages, metadata: { n }, revision: 0 });
      }
      const { revision } = await store.load("s1");
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
  {
    id: "delete",
    title: "a deleted session is an unknown one, the others stay, and deleting it again is no error",
    needs: "delete",
    async check({ store }) {
      for (const id of ["a", "b"]) await store.save(id, { messages: [note(id)], metadata: { id }, revision: 0 });
      const { revision } = await store.load("b");
      for (const id of ["a", "a", "never"]) await store.delete?.(id);
      expectThat(store.delete !== undefined, "the store has no delete and does not declare it missing");
      expectEqual(await store.load("a"), { messages: [], metadata: {}, revision: 0 }, "load");
      expectEqual(
        await store.load("b"),
        { messages: [note("b")], metadata: { id: "b" }, revision },
        "load of the other",
      );
      if (store.list !== undefined)
        expectEqual(
          (await listAll(store, {})).map(({ id }) => id),
          ["b"],
          "list",
        );
      if (store.append !== undefined)
        expectThat((await store.append("a", deltaOf("o", 0, [note("new")]))) > 0, "a write to it has no revision");
    },
  },
  {
    id: "delete-revision",
    title: "a revision is never used twice for an id: a session made anew after a delete is past all of the old one",
    needs: "delete",
    async check({ store }) {
      const empty = { messages: [], metadata: {} };
      let last = 0;
      for (const round of ["a", "b", "c"]) {
        const first = await store.save("s", { ...empty, messages: [note(round)], revision: 0 });
        expectThat(first > last, `revision ${first} of a new session was used by a deleted one`);
        last = await store.save("s", { ...empty, messages: [note(round), note("more")], revision: first });
        const known = await store.load("s", first);
        expectEqual(known.messages.at(-1), note("more"), "what follows a known revision");
        expectThat(store.delete !== undefined, "the store has no delete and does not declare it missing");
        await store.delete("s");
        expectEqual(await store.load("s", last), { ...empty, revision: 0 }, "load of what was deleted");
      }
      await store.save("s", { ...empty, messages: [note("new")], revision: 0 });
      const { from = 0, messages } = await store.load("s", last);
      expectEqual([from, messages], [0, [note("new")]], "load with a revision of the deleted session");
    },
  },
  {
    id: "damage",
    title: "damaged data is reported as corrupt, never as empty, is not overwritten and not hidden",
    needs: "damage",
    async check({ store, damage }) {
      await store.save("s", { messages: [note("a"), note("b")], metadata: {}, revision: 0 });
      await store.save("other", { messages: [note("c")], metadata: {}, revision: 0 });
      expectThat(damage !== undefined, "the fixture cannot damage and does not declare it missing");
      await damage("s");
      const isCorrupt = (): unknown => expectRejection(() => store.load("s"), SessionError, ["corrupt"], "load");
      await isCorrupt();
      const asNew = (): unknown => store.save("s", { messages: [note("x")], metadata: {}, revision: 0 });
      await expectRejection(asNew, SessionError, ["conflict", "corrupt"], "save as new");
      await isCorrupt();
      expectEqual((await store.load("other")).messages, [note("c")], "another session");
      if (store.list !== undefined)
        expectThat(
          (await listAll(store, {})).some(({ id }) => id === "s"),
          "the list hides it",
        );
    },
  },
  {
    id: "reopen",
    title: "what was acknowledged is there for another store on the same data, operation ids included",
    needs: "reopen",
    async check({ store, reopen }) {
      const revision = await store.save("s", { messages: [note("a")], metadata: { k: 1 }, revision: 0 });
      const delta = deltaOf("o", revision, [note("b")]);
      const appended = await store.append?.("s", delta);
      expectThat(reopen !== undefined, "the fixture cannot reopen and does not declare it missing");
      const second = await reopen();
      expectEqual(await second.load("s"), await store.load("s"), "load");
      if (second.append === undefined) return;
      expectEqual(await second.append("s", delta), appended, "revision of the repetition");
      await second.append("s", deltaOf("p", appended, [note("c")]));
      expectEqual(
        (await store.load("s")).messages,
        ["a", "b", "c"].map((id) => note(id)),
        "load in the first store",
      );
    },
  },
];

/** What every `SessionStore` does. The fixture's store is empty; nobody else may use it meanwhile. */
export const sessionStoreClaims: readonly SessionStoreClaim[] = [
  ...sessionBodyClaims,
  ...sessionWriteClaims,
  ...sessionPlaceClaims,
];

function writers(write: (id: string) => Promise<void>): Promise<void>[] {
  return Array.from({ length: WRITERS }, async (_, n) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        await write(`w${n}`);
        return;
      } catch (error) {
        if (!(error instanceof SessionError && error.kind === "conflict")) throw error;
      }
    }
    expectThat(false, "a writer meets conflicts without end");
  });
}

async function expectAllWriters(store: SessionStore): Promise<void> {
  const { messages } = await store.load("s");
  const expected = Array.from({ length: WRITERS }, (_, n) => note(`w${n}`));
  const byId = new Map(messages.map((message) => [message.id, message]));
  expectEqual(messages.length, WRITERS, "messages of all writers");
  expectEqual(
    expected.map(({ id }) => byId.get(id)),
    expected,
    "messages of all writers",
  );
}

async function listAll(store: SessionStore, query: SessionQuery): Promise<SessionInfo[]> {
  const list = listOf(store);
  const items: SessionInfo[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list({ ...query, cursor });
    expectThat(page.items.length <= (query.limit ?? Number.POSITIVE_INFINITY), "a page is longer than its limit");
    items.push(...page.items);
    if (page.cursor === undefined) return items;
    expectThat(page.items.length > 0 && items.length < 1_000, "the pages of a list do not end");
    cursor = page.cursor;
  }
}
