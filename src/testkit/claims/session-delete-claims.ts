import { expectEqual, expectThat } from "./expectations.js";
import { appendTo, listAll, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note } from "./session-samples.js";

/** A deleted session leaves nothing but its last revision. */
export const sessionDeleteClaims: readonly SessionStoreClaim[] = [
  {
    id: "delete",
    title: "a deleted session is an unknown one, the others stay, and deleting it again is no error",
    needs: "delete",
    async check({ store }) {
      for (const id of ["a", "b"]) await store.save(id, { messages: [note(id)], metadata: { id }, revision: 0 });
      const { revision } = await loadFrom(store, "b");
      for (const id of ["a", "a", "never"]) await store.delete?.(id);
      expectThat(store.delete !== undefined, "the store has no delete and does not declare it missing");
      expectEqual(await loadFrom(store, "a"), { messages: [], metadata: {}, revision: 0 }, "load");
      expectEqual(
        await loadFrom(store, "b"),
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
        const known = await loadFrom(store, "s", first);
        expectEqual(known.messages.at(-1), note("more"), "what follows a known revision");
        expectThat(store.delete !== undefined, "the store has no delete and does not declare it missing");
        await store.delete("s");
        expectEqual(await loadFrom(store, "s", last), { ...empty, revision: 0 }, "load of what was deleted");
      }
      await store.save("s", { ...empty, messages: [note("new")], revision: 0 });
      const { from = 0, messages } = await loadFrom(store, "s", last);
      expectEqual([from, messages], [0, [note("new")]], "load with a revision of the deleted session");
    },
  },
  {
    id: "delete-operations",
    title: "a deleted session takes its operation ids with it: the session made anew can use each of them once",
    needs: "delete",
    async check({ store }) {
      if (store.append === undefined) return;
      const append = appendTo(store);
      const delta = deltaOf("o", 0, [note("a")]);
      await append("s", delta);
      await store.delete?.("s");
      const anew = await append("s", delta);
      expectEqual(await append("s", delta), anew, "revision of the repetition");
      expectEqual(await loadFrom(store, "s"), { messages: [note("a")], metadata: {}, revision: anew }, "load");
    },
  },
];
