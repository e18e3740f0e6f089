import { SessionError } from "../../domain/errors.js";
import type { SessionStore } from "../../ports/session-store.js";
import { sessionBodyClaims } from "./session-body-claims.js";
import { sessionDeleteClaims } from "./session-delete-claims.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { listAll, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { sessionKnownClaims } from "./session-known-claims.js";
import { sessionListClaims } from "./session-list-claims.js";
import { sessionRaceClaims } from "./session-race-claims.js";
import { sessionRefusalClaims } from "./session-refusal-claims.js";
import { deltaOf, HOSTILE_IDS, note } from "./session-samples.js";
import { sessionWriteClaims } from "./session-write-claims.js";

const sessionPlaceClaims: readonly SessionStoreClaim[] = [
  {
    id: "ids",
    title: "every id keeps a session of its own, whatever it looks like",
    async check({ store }) {
      for (const id of HOSTILE_IDS) await store.save(id, { messages: [note(`of ${id}`)], metadata: {}, revision: 0 });
      for (const id of HOSTILE_IDS)
        expectEqual((await loadFrom(store, id)).messages, [note(`of ${id}`)], `session "${id}"`);
      if (store.list !== undefined)
        expectEqual((await listAll(store, {})).map(({ id }) => id).sort(), [...HOSTILE_IDS].sort(), "list");
      if (store.delete === undefined) return;
      for (const id of HOSTILE_IDS.slice(1)) await store.delete(id);
      expectEqual((await loadFrom(store, "../evil")).messages, [note("of ../evil")], "the session not deleted");
    },
  },
  {
    id: "huge-ids",
    title: "ids of any length are kept apart to their last character, or refused with a SessionError without effect",
    async check({ store }) {
      const kept: string[] = [];
      for (const length of [1_000, 10_000, 100_000]) {
        const stem = Array.from({ length }, (_, n) => ((n * n * 7) % 36).toString(36)).join("");
        for (const id of [`${stem}a`, `${stem}b`]) if (await saved(store, id)) kept.push(id);
      }
      for (const id of kept) expectEqual((await loadFrom(store, id)).messages, [note(id.slice(-9))], "load");
      if (store.list === undefined) return;
      const listed = (await listAll(store, {})).map(({ id }) => id);
      expectThat(new Set(listed).size === listed.length && listed.length === kept.length, "the list shows other ids");
      expectThat(
        kept.every((id) => listed.includes(id)),
        "the list shows other ids",
      );
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
      const isCorrupt = (): unknown => expectRejection(() => loadFrom(store, "s"), SessionError, ["corrupt"], "load");
      await isCorrupt();
      const asNew = (): unknown => store.save("s", { messages: [note("x")], metadata: {}, revision: 0 });
      await expectRejection(asNew, SessionError, ["conflict", "corrupt"], "save as new");
      await isCorrupt();
      expectEqual((await loadFrom(store, "other")).messages, [note("c")], "another session");
      if (store.list !== undefined)
        expectThat(
          (await listAll(store, {})).some(({ id }) => id === "s"),
          "the list hides it",
        );
    },
  },
  {
    id: "damage-healed",
    title: "a save with replace, and a delete, make the id of a damaged session usable again",
    needs: "damage",
    async check({ store, damage }) {
      const session = { messages: [note("a"), note("b")], metadata: {}, revision: 0 };
      const first = await store.save("s", session);
      await damage?.("s");
      const second = await store.save(
        "s",
        { ...session, metadata: { healed: true }, revision: first },
        { replace: true },
      );
      expectThat(second > first, "the revision must grow");
      expectEqual(await loadFrom(store, "s"), { ...session, metadata: { healed: true }, revision: second }, "load");
      if (store.delete === undefined) return;
      await damage?.("s");
      await store.delete("s");
      expectEqual(await loadFrom(store, "s"), { messages: [], metadata: {}, revision: 0 }, "load after a delete");
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
      expectEqual(await loadFrom(second, "s"), await loadFrom(store, "s"), "load");
      if (second.append === undefined) return;
      expectEqual(await second.append("s", delta), appended, "revision of the repetition");
      await second.append("s", deltaOf("p", appended, [note("c")]));
      expectEqual(
        (await loadFrom(store, "s")).messages,
        ["a", "b", "c"].map((id) => note(id)),
        "load in the first store",
      );
    },
  },
];

/** What every `SessionStore` does. The fixture's store is empty; nobody else may use it meanwhile. */
export const sessionStoreClaims: readonly SessionStoreClaim[] = [
  ...sessionBodyClaims,
  ...sessionRefusalClaims,
  ...sessionWriteClaims,
  ...sessionKnownClaims,
  ...sessionRaceClaims,
  ...sessionListClaims,
  ...sessionDeleteClaims,
  ...sessionPlaceClaims,
];

async function saved(store: SessionStore, id: string): Promise<boolean> {
  try {
    await store.save(id, { messages: [note(id.slice(-9))], metadata: {}, revision: 0 });
    return true;
  } catch (error) {
    if (error instanceof SessionError) return false;
    throw error;
  }
}
