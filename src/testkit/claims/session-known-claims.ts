import type { SessionStore } from "../../ports/session-store.js";
import { expectEqual, expectThat } from "./expectations.js";
import { appendTo, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, note, sessionOf } from "./session-samples.js";

/** What a reader gets who has a part already. */
export const sessionKnownClaims: readonly SessionStoreClaim[] = [
  {
    id: "known",
    title: "with a known revision the answer follows on from what the reader has, or is whole",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      await append("s", deltaOf("o1", 0, [note("a"), note("b")], { metadata: { k: 1 } }));
      await append("s", deltaOf("o2", 1, [], { metadata: { k: 2 } }));
      await append("s", deltaOf("o3", 2, [note("c")]));
      const seen = [[], ["a", "b"], ["a", "b"], ["a", "b", "c"]];
      for (const [known, ids] of seen.entries()) await expectFollowing(store, known, ids);
      const revision = await store.save("s", { ...sessionOf(3, "x", "b", "c"), metadata: { k: 1 } });
      await append("s", deltaOf("o4", revision, [note("d")]));
      for (const known of [1, 3, revision + 9]) expectEqual((await loadFrom(store, "s", known)).from ?? 0, 0, "from");
      await expectFollowing(store, revision, ["x", "b", "c"]);
      await expectEveryRevision(store);
    },
  },
  {
    id: "known-patch",
    title: "a patch that left the revision is seen by a reader who knows that revision",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const revision = await append("s", deltaOf("o", 0, [note("a")], { metadata: { kept: 1, gone: 1 } }));
      await loadFrom(store, "s", revision);
      await append("s", deltaOf("p", undefined, [], { metadata: { title: "new" }, unset: ["gone"] }));
      expectEqual((await loadFrom(store, "s", revision)).metadata, { kept: 1, title: "new" }, "metadata");
    },
  },
];

/** A history long enough for stores that keep only so many marks. */
async function expectEveryRevision(store: SessionStore): Promise<void> {
  const append = appendTo(store);
  const ids: string[] = [];
  const seen: string[][] = [[]];
  for (let revision = 0; revision < 60; revision++) {
    const added = Array.from({ length: revision % 4 }, (_, n) => `m${revision}.${n}`);
    ids.push(...added);
    const messages = added.map((id) => note(id));
    await append("long", deltaOf(`o${revision}`, revision, messages, { metadata: { revision } }));
    await append("long", deltaOf(`p${revision}`, undefined, [], { metadata: { patched: revision } }));
    seen.push([...ids]);
  }
  for (const [known, before] of seen.entries()) await expectFollowing(store, known, before, "long");
}

async function expectFollowing(
  store: SessionStore,
  known: number,
  ids: readonly string[],
  session = "s",
): Promise<void> {
  const { from, ...part } = await loadFrom(store, session, known);
  const had = ids.slice(0, from ?? 0).map((id) => note(id));
  expectThat(had.length === (from ?? 0), `the answer for revision ${known} begins after what its reader has`);
  const whole = await loadFrom(store, session);
  expectEqual({ ...part, messages: [...had, ...part.messages] }, whole, `load after revision ${known}`);
}
