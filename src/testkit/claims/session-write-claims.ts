import { SessionError } from "../../domain/errors.js";
import type { LoadedSession } from "../../domain/session.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { appendTo, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note, sessionOf } from "./session-samples.js";

/** Revisions, operation ids and patches: no write is lost, doubled or half done. */
export const sessionWriteClaims: readonly SessionStoreClaim[] = [
  {
    id: "save-conflict",
    title: "a save based on another revision than the stored one is a conflict without effect",
    needs: "compare",
    async check({ store }) {
      const first = await store.save("s", sessionOf(0, "a"));
      const second = await store.save("s", sessionOf(first, "a", "b"));
      expectThat(second > first, "a save must raise the revision");
      for (const revision of [0, first, second + 1]) {
        const stale = (): unknown => store.save("s", sessionOf(revision, "lost"));
        await expectRejection(stale, SessionError, ["conflict"], `save on revision ${revision} of ${second}`);
      }
      expectEqual(await loadFrom(store, "s"), sessionOf(second, "a", "b"), "load");
    },
  },
  {
    id: "save-replace",
    title: "a save with replace is not compared, replaces everything and never takes a revision back",
    async check({ store }) {
      const first = await store.save("s", { ...sessionOf(0, "a"), compaction, metadata: { old: 1 } });
      const second = await store.save("s", sessionOf(99, "b"), { replace: true });
      expectThat(second > first, "the revision must grow");
      expectEqual(await loadFrom(store, "s"), sessionOf(second, "b"), "load");
      const fresh = await store.save("new", sessionOf(7, "b"), { replace: true });
      expectEqual(await loadFrom(store, "new"), sessionOf(fresh, "b"), "load of a new one");
    },
  },
  {
    id: "save-part",
    title: "a part of a session, as loaded for a known revision, cannot be saved over the whole",
    async check({ store }) {
      const revision = await store.save("s", sessionOf(0, "a", "b"));
      const part: LoadedSession = { ...sessionOf(revision, "b"), from: 1 };
      await expectRejection(() => store.save("s", part), SessionError, ["save"], "save");
      await expectRejection(() => store.save("s", part, { replace: true }), SessionError, ["save"], "replace");
      expectEqual(await loadFrom(store, "s"), sessionOf(revision, "a", "b"), "load");
    },
  },
  {
    id: "append-conflict",
    title: "an append based on another revision than the stored one is a conflict without effect",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const revision = await append("s", deltaOf("o1", 0, [note("a")]));
      for (const base of [revision - 1, revision + 1]) {
        const stale = deltaOf(`stale ${base}`, base, [note("lost")], { metadata: { lost: true }, compaction });
        await expectRejection(() => append("s", stale), SessionError, ["conflict"], `append on ${base} of ${revision}`);
      }
      expectEqual(await loadFrom(store, "s"), sessionOf(1, "a"), "load");
    },
  },
  {
    id: "append-revision",
    title: "a compared append raises the revision by one, with or without messages",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const revisions = [
        await append("s", deltaOf("o1", 0, [])),
        await append("s", deltaOf("o2", 1, [note("a"), note("b")])),
        await append("s", deltaOf("o3", 2, [], { metadata: { k: 1 } })),
      ];
      expectEqual(revisions, [1, 2, 3], "revisions");
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(3, "a", "b"), metadata: { k: 1 } }, "load");
    },
  },
  {
    id: "append-once",
    title:
      "an operation id already applied has no effect and answers the revision it made, however much was written since",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const first = deltaOf("o1", 0, [note("a")], { metadata: { k: 1 } });
      expectEqual(await append("s", first), 1, "revision");
      expectEqual(await append("s", first), 1, "revision of the repetition");
      await append("s", deltaOf("o2", 1, [note("b")], { metadata: { k: 2 } }));
      expectEqual(await append("s", first), 1, "revision of the late repetition");
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(2, "a", "b"), metadata: { k: 2 } }, "load");
      const saved = await store.save("s", sessionOf(2, "c"));
      expectEqual(await append("s", first), 1, "revision of the repetition after a save");
      expectEqual(await loadFrom(store, "s"), sessionOf(saved, "c"), "load after a save");
      expectEqual(await append("other", first), 1, "an operation id counts for one session");
    },
  },
  {
    id: "append-reused",
    title: "an operation id already applied counts as applied whatever is sent under it",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o", 0, [note("a")]));
      await append("s", deltaOf("p", undefined, [], { metadata: { k: 1 } }));
      const others = [
        deltaOf("o", 1, [note("other")]),
        deltaOf("o", 7, [], { metadata: { k: 2 }, compaction }),
        deltaOf("o", undefined, [], { unset: ["k"] }),
      ];
      for (const other of others) expectEqual(await append("s", other), 1, "revision");
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(1, "a"), metadata: { k: 1 } }, "load");
    },
  },
  {
    id: "operation-ids",
    title: "operation ids that look alike are two, and each is known again",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const deltas = OPERATION_IDS.map((operationId, n) => deltaOf(operationId, n, [note(`m${n}`)]));
      for (const [n, delta] of deltas.entries()) expectEqual(await append("s", delta), n + 1, "revision");
      for (const [n, delta] of deltas.entries()) expectEqual(await append("s", delta), n + 1, "revision again");
      expectEqual((await loadFrom(store, "s")).messages.length, deltas.length, "messages");
    },
  },
  {
    id: "patch-once",
    title: "a metadata patch is applied once per operation id",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const patch = deltaOf("p", undefined, [], { metadata: { title: "old" } });
      await append("s", deltaOf("o", 0, [note("a")]));
      expectEqual(await append("s", patch), 1, "revision");
      await append("s", deltaOf("q", undefined, [], { metadata: { title: "new" } }));
      expectEqual(await append("s", patch), 1, "revision of the repetition");
      expectEqual(
        await append("s", deltaOf("p", 1, [], { metadata: { other: 1 } })),
        1,
        "revision of another write under its id",
      );
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(1, "a"), metadata: { title: "new" } }, "load");
    },
  },
  {
    id: "patch-revision",
    title: "a metadata patch without a base revision never conflicts and leaves revision and messages",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o1", 0, [note("a")], { metadata: { kept: [1], title: "old" } }));
      await append("s", deltaOf("p1", undefined, [], { metadata: { title: "new", owner: null } }));
      await append("s", deltaOf("o2", 1, [note("b")]));
      const metadata = { kept: [1], title: "new", owner: null };
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(2, "a", "b"), metadata }, "load");
      expectEqual(await append("new", deltaOf("p", undefined, [], { metadata })), 0, "revision of a new session");
      expectEqual(await loadFrom(store, "new"), { messages: [], metadata, revision: 0 }, "load of a new session");
    },
  },
  {
    id: "patch-unset",
    title: "unset removes the keys it names, unknown ones without an error, and no other",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o1", 0, [], { metadata: { a: 1, b: null, c: "x" } }));
      await append("s", deltaOf("o2", 1, [], { unset: ["b", "never"], metadata: { d: 4 } }));
      expectEqual((await loadFrom(store, "s")).metadata, { a: 1, c: "x", d: 4 }, "metadata");
    },
  },
  {
    id: "patch-order",
    title: "a key that one write both removes and sets is set",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o", 0, [], { metadata: { a: 1, b: 1 } }));
      await append("s", deltaOf("p", undefined, [], { metadata: { b: 2, c: 3 }, unset: ["a", "b"] }));
      expectEqual((await loadFrom(store, "s")).metadata, { b: 2, c: 3 }, "metadata");
    },
  },
  {
    id: "patch-whole",
    title: "a key that is set is replaced as a whole, objects too",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o", 0, [], { metadata: { a: { old: 1 }, list: [1, 2] } }));
      await append("s", deltaOf("p", undefined, [], { metadata: { a: { new: 1 }, list: [3] } }));
      expectEqual((await loadFrom(store, "s")).metadata, { a: { new: 1 }, list: [3] }, "metadata");
    },
  },
  {
    id: "patch-only",
    title: "messages or a compaction without a base revision are refused without effect",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const refused = [deltaOf("o1", undefined, [note("a")]), deltaOf("o2", undefined, [], { compaction })];
      for (const delta of refused) await expectRejection(() => append("s", delta), SessionError, ["save"], "append");
      expectEqual(await loadFrom(store, "s"), sessionOf(0), "load");
    },
  },
  {
    id: "compaction",
    title: "a compaction is kept beside the messages until another one or a save replaces it",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o1", 0, [note("a"), note("b")], { compaction }));
      await append("s", deltaOf("o2", 1, [note("c")]));
      expectEqual(await loadFrom(store, "s"), { ...sessionOf(2, "a", "b", "c"), compaction }, "load");
      expectEqual((await loadFrom(store, "s", 1)).compaction, compaction, "compaction for a known revision");
      const later = { upTo: "b", messages: [] };
      await append("s", deltaOf("o3", 2, [], { compaction: later }));
      expectEqual((await loadFrom(store, "s")).compaction, later, "compaction");
      const revision = await store.save("s", sessionOf(3, "a"));
      expectEqual(await loadFrom(store, "s"), sessionOf(revision, "a"), "load after a save without one");
    },
  },
];

const OPERATION_IDS = [
  ...["o", "O", "o ", "", "é", "e\u0301", "\ud800", "\ufffd", "a\u0000b", "a", '"a"', "__proto__", "*", "%"],
  ...["b", "c"].map((end) => "x".repeat(500) + end),
];

const compaction = { upTo: "a", messages: [note("summary")] };
