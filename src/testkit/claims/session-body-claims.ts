import type { JsonObject } from "../../domain/json.js";
import type { Session } from "../../domain/session.js";
import { expectEqual, expectThat } from "./expectations.js";
import { appendTo, loadFrom, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, everyMessage, HOSTILE_TEXT, note, toolResult, valueTypes, withProto } from "./session-samples.js";
import { isThawed, spoil } from "./spoil.js";

/** What goes in comes out, and belongs to nobody else in between. */
export const sessionBodyClaims: readonly SessionStoreClaim[] = [
  {
    id: "unknown-id",
    title: "an id nobody wrote is an empty session with revision 0",
    async check({ store }) {
      expectEqual(await loadFrom(store, "nobody"), { messages: [], metadata: {}, revision: 0 }, "load");
      expectEqual(await loadFrom(store, "nobody", 3), { messages: [], metadata: {}, revision: 0 }, "load with known");
    },
  },
  {
    id: "save-round-trip",
    title: "a saved session comes back with every part, metadata and unknown field as it was",
    async check({ store }) {
      const later = { v2: { a: 1 }, ...withProto() };
      const session = {
        messages: everyMessage(),
        metadata: { ...valueTypes(), deep: withProto() },
        revision: 0,
        ...later,
      };
      const revision = await store.save("s", session);
      expectEqual(await loadFrom(store, "s"), { ...session, revision }, "load");
    },
  },
  {
    id: "append-round-trip",
    title: "appended messages come back in order with every part and unknown field as it was",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const [first, ...rest] = everyMessage();
      expectThat(first !== undefined, "there is a first message");
      await append("s", deltaOf("o1", 0, [first], { metadata: valueTypes() }));
      await append("s", deltaOf("o2", 1, rest));
      expectEqual(
        await loadFrom(store, "s"),
        { messages: everyMessage(), metadata: valueTypes(), revision: 2 },
        "load",
      );
    },
  },
  {
    id: "hostile-text",
    title: "NUL, lone surrogates and __proto__ survive in ids, keys and values",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const metadata = { [HOSTILE_TEXT]: HOSTILE_TEXT, ...withProto(), "\ud800": "high", "\ufffd": "replacement" };
      for (const id of ["\ud800", "\ufffd", "a\u0000b", "a"]) {
        await append(id, deltaOf(HOSTILE_TEXT, 0, [note("m", id + HOSTILE_TEXT)], { metadata }));
      }
      for (const id of ["\ud800", "\ufffd", "a\u0000b", "a"]) {
        expectEqual(
          await loadFrom(store, id),
          { messages: [note("m", id + HOSTILE_TEXT)], metadata, revision: 1 },
          "load",
        );
      }
      await append("a", deltaOf("again", undefined, [], { unset: [HOSTILE_TEXT, "__proto__", "\ud800"] }));
      const { metadata: left } = await loadFrom(store, "a");
      expectEqual(left, { constructor: 1, toString: "x", "\ufffd": "replacement" }, "metadata after unset");
    },
  },
  {
    id: "large-text",
    title: "a text of ten million characters comes back whole",
    async check({ store }) {
      const text = `${"x".repeat(10_000_000)}\u{1f600}`;
      await store.save("s", { messages: [note("m", text)], metadata: {}, revision: 0 });
      const [message] = (await loadFrom(store, "s")).messages;
      const part = message?.role === "user" ? message.content[0] : undefined;
      expectThat(part?.type === "text" && part.text === text, "the text differs");
    },
  },
  {
    id: "large-append",
    title: "an appended tool result of ten million characters comes back whole, by itself too",
    needs: "append",
    async check({ store }) {
      const text = `${"y".repeat(10_000_000)}\ud800`;
      const result = { ...toolResult("m"), content: [{ type: "text" as const, text }] };
      await appendTo(store)("s", deltaOf("o", 0, [note("a"), result]));
      for (const known of [undefined, 0]) {
        const last = (await loadFrom(store, "s", known)).messages.at(-1);
        const part = last?.role === "tool" ? last.content[0] : undefined;
        expectThat(part?.type === "text" && part.text === text, "the text differs");
      }
    },
  },
  {
    id: "message-order",
    title: "messages come back in the order in which they were written, whatever their times and ids",
    async check({ store }) {
      const messages = [
        { ...note("m2"), at: 5 },
        { ...note("m3"), at: 1 },
        { ...note("m1"), at: 3 },
      ];
      await store.save("s", { messages, metadata: {}, revision: 0 });
      expectEqual((await loadFrom(store, "s")).messages, messages, "after a save");
      if (store.append === undefined) return;
      for (const [n, message] of messages.entries()) await store.append("t", deltaOf(`o${n}`, n, [message]));
      expectEqual((await loadFrom(store, "t")).messages, messages, "after appends");
    },
  },
  {
    id: "many-messages",
    title: "ten thousand messages come back whole, written by one save or by one append",
    needs: "append",
    async check({ store }) {
      const messages = Array.from({ length: 10_000 }, (_, n) => note(`m${n}`));
      await store.save("s", { messages, metadata: {}, revision: 0 });
      expectEqual((await loadFrom(store, "s")).messages, messages, "after a save");
      await appendTo(store)("t", deltaOf("o", 0, messages));
      expectEqual((await loadFrom(store, "t")).messages, messages, "after an append");
    },
  },
  {
    id: "huge-session",
    title: "a hundred thousand messages come back whole and in order, and what follows them without them",
    needs: "append",
    async check({ store }) {
      const append = appendTo(store);
      const messages = Array.from({ length: 100_000 }, (_, n) => note(`m${n}`));
      const first = await append("s", deltaOf("o1", 0, messages));
      await append("s", deltaOf("o2", first, [note("last")]));
      const whole = await loadFrom(store, "s");
      // As texts: comparing objects of this number takes longer than storing them.
      expectThat(JSON.stringify(whole.messages) === JSON.stringify([...messages, note("last")]), "the messages differ");
      const { from = 0, messages: rest } = await loadFrom(store, "s", first);
      expectEqual(rest.slice(100_000 - from), [note("last")], "what follows a known revision");
    },
  },
  {
    id: "deep-and-wide",
    title: "a hundred levels and a thousand keys come back, in messages and in metadata",
    needs: "append",
    async check({ store }) {
      const wide = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`key ${n}`, n]));
      let deep: JsonObject = wide;
      for (let level = 0; level < 100; level++) deep = level % 2 === 0 ? { deep } : { list: [deep] };
      const messages = [{ ...note("m"), metadata: { deep } }];
      await appendTo(store)("s", deltaOf("o", 0, messages, { metadata: { ...wide, deep } }));
      expectEqual(await loadFrom(store, "s"), { messages, metadata: { ...wide, deep }, revision: 1 }, "load");
    },
  },
  {
    id: "body-text",
    title: "messages and metadata come back as the same JSON text, the order of their keys included",
    async check({ store }) {
      const metadata = { z: 1, a: { y: 1, b: [{ x: 1, c: null }] }, f: 1.5e-7 };
      const messages = [{ ...note("m"), metadata }];
      const text = JSON.stringify([messages, metadata]);
      const expectText = async (id: string): Promise<void> => {
        const loaded = await loadFrom(store, id);
        expectThat(JSON.stringify([loaded.messages, loaded.metadata]) === text, `the text of ${id} differs`);
      };
      await store.save("saved", { messages, metadata, revision: 0 });
      await expectText("saved");
      if (store.append === undefined) return;
      await store.append("appended", deltaOf("o", 0, messages, { metadata }));
      await expectText("appended");
    },
  },
  {
    id: "compaction-round-trip",
    title: "a compaction comes back with every part and unknown field as it was, from a save and from an append",
    async check({ store }) {
      const compaction = { upTo: HOSTILE_TEXT, messages: everyMessage(), v2: withProto() };
      const session = { messages: [note(HOSTILE_TEXT)], metadata: {}, compaction };
      const saved = await store.save("saved", { ...session, revision: 0 });
      expectEqual(await loadFrom(store, "saved"), { ...session, revision: saved }, "after a save");
      if (store.append === undefined) return;
      await store.append("appended", deltaOf("o", 0, session.messages, { compaction }));
      expectEqual(await loadFrom(store, "appended"), { ...session, revision: 1 }, "after an append");
    },
  },
  {
    id: "frozen-input",
    title: "what is given to the store may be frozen: it changes nothing of it",
    async check({ store }) {
      const messages = [note("a"), note("b")];
      const metadata = { list: [1] };
      await store.save("s", frozen({ messages, metadata, revision: 0 }), frozen({ replace: true }));
      expectEqual((await loadFrom(store, "s")).messages, messages, "what was saved");
      if (store.append === undefined) return;
      await store.append("t", frozen(deltaOf("o", 0, messages, { metadata, unset: [] })));
      expectEqual((await loadFrom(store, "t")).messages, messages, "what was appended");
    },
  },
  {
    id: "input-isolation",
    title: "changing what was given to the store afterwards changes nothing stored, and the store does not freeze it",
    async check({ store }) {
      const given = { ...wholeSession(), revision: 0 };
      const saved = await store.save("s", given);
      expectThat(isThawed(given), "the store froze what it was given");
      spoil(given);
      expectEqual(await loadFrom(store, "s"), { ...wholeSession(), revision: saved }, "what was saved");
      if (store.append === undefined) return;
      const small = () => ({
        messages: [note("a")],
        metadata: { list: [1] },
        compaction: { upTo: "a", messages: [note("b")] },
      });
      const delta = deltaOf("o", 0, small().messages, small());
      await store.append("t", delta);
      expectThat(isThawed(delta), "the store froze what it was given");
      spoil(delta);
      expectEqual(await loadFrom(store, "t"), { ...small(), revision: 1 }, "what was appended");
    },
  },
  {
    id: "output-isolation",
    title: "changing what was loaded, or failing to, changes nothing stored",
    async check({ store }) {
      const { messages, metadata } = wholeSession();
      const revision = await store.save("s", { messages, metadata, revision: 0 });
      for (const known of [undefined, revision, undefined]) {
        const loaded = await loadFrom(store, "s", known);
        expectThat(!Object.isFrozen(loaded.messages), "the list is not the caller's");
        spoil(loaded);
      }
      expectEqual(await loadFrom(store, "s"), { messages, metadata, revision }, "what is loaded then");
    },
  },
  {
    id: "compaction-isolation",
    title: "changing a compaction that was loaded changes nothing stored, nor the messages that are in both",
    async check({ store }) {
      const revision = await store.save("s", { ...wholeSession(), revision: 0 });
      spoil((await loadFrom(store, "s")).compaction);
      expectEqual(await loadFrom(store, "s"), { ...wholeSession(), revision }, "what is loaded then");
    },
  },
];

/** Made anew at each call. */
function wholeSession(): Pick<Session, "messages" | "metadata"> & Required<Pick<Session, "compaction">> {
  const messages = everyMessage();
  return { messages, metadata: { list: [1], deep: { a: [{}] } }, compaction: { upTo: "m2", messages: everyMessage() } };
}

function frozen<T extends object>(value: T): T {
  for (const field of Object.values(value) as unknown[]) if (typeof field === "object" && field !== null) frozen(field);
  return Object.freeze(value);
}
