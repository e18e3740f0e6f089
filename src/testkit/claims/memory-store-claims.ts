import { MemoryError } from "../../domain/errors.js";
import type { MemoryEntryInput } from "../../domain/memory.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { ALL, found, hitOf, type MemoryPortClaim, storeAll } from "./memory-fixture.js";
import { HOSTILE_TEXT, HOSTILE_IDS, valueTypes, withProto } from "./session-samples.js";
import { isThawed, spoil } from "./spoil.js";

const STORES = 50;

const metadataOf = () => ({ ...valueTypes(), [HOSTILE_TEXT]: HOSTILE_TEXT, deep: [withProto()], ...withProto() });

/** What is stored is there, as it was, under its id, and nobody else's to change. */
export const memoryStoreClaims: readonly MemoryPortClaim[] = [
  {
    id: "store-id",
    title: "a store answers the id it was given, and one of its own where none was",
    async check({ memory }) {
      expectEqual(await memory.store({ id: "mine", content: "apple" }), "mine", "the id that was given");
      const ids = await storeAll(memory, { content: "apple" }, { content: "apple" });
      for (const id of ids) expectThat(typeof id === "string" && id !== "", "an id of its own is no text");
      expectEqual(new Set([...ids, "mine"]).size, 3, "different ids");
    },
  },
  {
    id: "visible",
    title: "an entry is found as soon as its store has resolved, with content, metadata and score",
    needs: "search",
    async check({ memory }) {
      for (const n of [1, 2, 3]) {
        const id = await memory.store({ content: `apple ${n}`, metadata: { n } });
        const { score, ...entry } = await hitOf(memory, id, "apple");
        expectEqual(entry, { id, content: `apple ${n}`, metadata: { n } }, "the hit");
        expectThat(typeof score === "number", "the hit has no score");
      }
      const id = await memory.store({ content: "apple" });
      expectEqual((await hitOf(memory, id, "apple")).metadata, {}, "metadata of an entry stored without");
    },
  },
  {
    id: "round-trip",
    title: "content and metadata come back exactly: NUL, lone surrogates, __proto__, and values of every type",
    needs: "search",
    async check({ memory }) {
      const content = `apple ${HOSTILE_TEXT}`;
      const id = await memory.store({ content, metadata: metadataOf() });
      const hit = await hitOf(memory, id, "apple");
      expectEqual([hit.content, hit.metadata], [content, metadataOf()], "content and metadata");
    },
  },
  {
    id: "large-content",
    title: "a content of a million characters comes back whole, and its last word finds it",
    needs: "search",
    async check({ memory }) {
      const content = `${"word ".repeat(200_000)}apple`;
      const id = await memory.store({ content });
      expectThat((await hitOf(memory, id, "apple")).content === content, "the content differs");
    },
  },
  {
    id: "memory-ids",
    title: "every id keeps an entry of its own, whatever it looks like",
    needs: "search",
    async check({ memory }) {
      for (const id of HOSTILE_IDS) {
        expectEqual(await memory.store({ id, content: "apple", metadata: { of: id } }), id, "the id");
      }
      const hits = await memory.search({ query: "apple", topK: ALL });
      expectEqual(hits.map(({ id }) => id).sort(), [...HOSTILE_IDS].sort(), "the ids found");
      for (const { id, metadata } of hits) expectEqual(metadata, { of: id }, "the entry of an id");
      for (const id of HOSTILE_IDS.slice(1)) await memory.delete(id);
      expectEqual(await found(memory, "apple"), HOSTILE_IDS.slice(0, 1), "the entry not deleted");
    },
  },
  {
    id: "memory-long-names",
    title: "ids, and names and values of metadata, may have any length: each is found by the whole of it",
    needs: "search",
    async check({ memory }) {
      // No text that a database could store in fewer bytes.
      const long = Array.from({ length: 2_000 }, (_, n) => ((n * 7_919) % 1_000_003).toString(36)).join("-");
      const entries = [`${long}a`, `${long}b`].map((text) => ({
        id: text,
        content: "apple",
        metadata: { [text]: text },
      }));
      await storeAll(memory, ...entries);
      for (const { id, metadata } of entries)
        expectEqual(await found(memory, { query: "apple", filter: metadata }), [id], "the entry with the long field");
      await memory.delete(`${long}a`);
      expectEqual(await found(memory, "apple"), [`${long}b`], "the entry not deleted");
    },
  },
  {
    id: "replace",
    title: "a store under an id that is there replaces content and metadata",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, { id: "a", content: "apple old", metadata: { v: 1, old: true } });
      await storeAll(
        memory,
        { id: "b", content: "apple other" },
        { id: "a", content: "apple new", metadata: { v: 2 } },
      );
      const { content, metadata } = await hitOf(memory, "a", "apple");
      expectEqual([content, metadata], ["apple new", { v: 2 }], "the entry");
      await storeAll(memory, { id: "a", content: "apple newest" });
      expectEqual((await hitOf(memory, "a", "apple")).metadata, {}, "metadata of one stored without");
      expectEqual((await found(memory, "apple")).sort(), ["a", "b"], "the entries");
    },
  },
  {
    id: "replace-words",
    title: "words of a content that was replaced find nothing any more",
    needs: "words",
    async check({ memory }) {
      await storeAll(memory, { id: "a", content: "apple" }, { id: "a", content: "pear" });
      expectEqual([await found(memory, "apple"), await found(memory, "pear")], [[], ["a"]], "old and new word");
    },
  },
  {
    id: "memory-delete",
    title: "a deleted entry is not found, the others are, an unknown id is no error, and the id can be stored again",
    needs: "search",
    async check({ memory }) {
      await storeAll(memory, { id: "a", content: "apple" }, { id: "b", content: "apple" });
      for (const id of ["a", "a", "never", "", "'; --"]) await memory.delete(id);
      expectEqual(await found(memory, "apple"), ["b"], "what is left");
      await memory.store({ id: "a", content: "apple again" });
      expectEqual((await hitOf(memory, "a", "apple")).content, "apple again", "stored again");
    },
  },
  {
    id: "stores-at-once",
    title: "fifty stores at once lose nothing, and fifty under one id leave one of them",
    needs: "search",
    async check({ memory }) {
      const own = await Promise.all(
        Array.from({ length: STORES }, (_, n) => memory.store({ content: "apple", metadata: { n } })),
      );
      const hits = await memory.search({ query: "apple", topK: ALL });
      expectEqual(hits.map(({ id }) => id).sort(), [...own].sort(), "the entries");
      for (const { id, metadata } of hits) expectEqual(metadata["n"], own.indexOf(id), "the entry of an id");
      await Promise.all(
        Array.from({ length: STORES }, (_, n) => memory.store({ id: "one", content: `apple n${n}`, metadata: { n } })),
      );
      const { content, metadata } = await hitOf(memory, "one", "apple");
      expectEqual(content, `apple n${String(metadata["n"])}`, "content and metadata of one store");
    },
  },
  {
    id: "memory-input-isolation",
    title: "changing what was given to the memory afterwards changes nothing stored, and the memory does not freeze it",
    needs: "search",
    async check({ memory }) {
      const given = { id: "a", content: "apple", metadata: { list: [1] } };
      const stored = memory.store(given);
      expectThat(isThawed(given), "the memory froze what it was given");
      spoil(given);
      // A memory that reads it late must not write to another id.
      given.id = "a";
      await stored;
      const { content, metadata } = await hitOf(memory, "a", "apple");
      expectEqual([content, metadata], ["apple", { list: [1] }], "the entry");
    },
  },
  {
    id: "memory-output-isolation",
    title: "changing what was found, or failing to, changes nothing stored",
    needs: "search",
    async check({ memory }) {
      await memory.store({ id: "a", content: "apple", metadata: { list: [1] } });
      const hits = await memory.search({ query: "apple" });
      expectThat(!Object.isFrozen(hits), "the list is not the caller's");
      spoil(hits);
      const { content, metadata } = await hitOf(memory, "a", "apple");
      expectEqual([content, metadata], ["apple", { list: [1] }], "the entry");
    },
  },
  {
    id: "refused-entries",
    title: "what is no entry, or holds what JSON cannot, is a MemoryError",
    async check({ memory }) {
      for (const entry of refusedEntries()) {
        await expectRejection(() => memory.store(entry), MemoryError, ["store"], "store");
      }
    },
  },
  {
    id: "refused-changes-nothing",
    title: "a store that is refused leaves the entry under its id as it was",
    needs: "search",
    async check({ memory }) {
      await memory.store({ id: "a", content: "apple", metadata: { v: 1 } });
      for (const entry of refusedEntries()) await Promise.resolve(memory.store(entry)).catch(() => {});
      const { content, metadata } = await hitOf(memory, "a", "apple");
      expectEqual([content, metadata], ["apple", { v: 1 }], "the entry");
      expectEqual(await found(memory, "apple"), ["a"], "the entries");
    },
  },
  {
    id: "memory-damage",
    title: "a damaged entry is a MemoryError of the search that meets it, never a hit, and storing it again mends it",
    needs: "damage",
    async check({ memory, damage }) {
      await storeAll(memory, { id: "a", content: "apple", metadata: { k: 1 } }, { id: "b", content: "pear" });
      expectThat(damage !== undefined, "the fixture cannot damage and does not declare it missing");
      await damage("a");
      await expectRejection(() => memory.search({ query: "apple" }), MemoryError, ["search"], "search");
      await memory.store({ id: "a", content: "apple", metadata: { k: 2 } });
      expectEqual((await hitOf(memory, "a", "apple")).metadata, { k: 2 }, "metadata stored again");
    },
  },
  {
    id: "memory-reopen",
    title: "what was acknowledged is there for another memory on the same data",
    needs: "reopen",
    async check({ memory, reopen }) {
      await storeAll(memory, { id: "a", content: "apple old" }, { id: "b", content: "apple", metadata: { k: "5" } });
      await storeAll(memory, { id: "c", content: "apple" }, { id: "a", content: "apple new" });
      await memory.delete("c");
      expectThat(reopen !== undefined, "the fixture cannot reopen and does not declare it missing");
      const second = await reopen();
      expectEqual(await second.search({ query: "apple" }), await memory.search({ query: "apple" }), "hits");
      expectEqual((await hitOf(second, "a", "apple")).content, "apple new", "the replaced entry");
      await second.store({ id: "d", content: "apple" });
      await second.delete("b");
      expectEqual((await found(memory, "apple")).sort(), ["a", "d"], "the first memory");
    },
  },
];

function refusedEntries(): MemoryEntryInput[] {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const metadata = [cyclic, { n: 1n }, { n: Number.NaN }, { f: () => 1 }, [], null, "text"];
  const entries: unknown[] = [undefined, null, "apple", {}, { content: 5 }, { id: 5, content: "apple" }];
  return [
    ...entries.map((entry) => (isPlain(entry) ? { id: "a", ...entry } : entry)),
    ...metadata.map((value) => ({ id: "a", content: "apple", metadata: value })),
  ] as MemoryEntryInput[];
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
