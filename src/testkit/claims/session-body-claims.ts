import { SessionError } from "../../domain/errors.js";
import type { AgentMessage } from "../../domain/message.js";
import type { Session } from "../../domain/session.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { appendTo, type SessionStoreClaim } from "./session-fixture.js";
import { deltaOf, everyMessage, HOSTILE_TEXT, note, valueTypes, withProto } from "./session-samples.js";

/** What goes in comes out, and belongs to nobody else in between. */
export const sessionBodyClaims: readonly SessionStoreClaim[] = [
  {
    id: "unknown-id",
    title: "an id nobody wrote is an empty session with revision 0",
    async check({ store }) {
      expectEqual(await store.load("nobody"), { messages: [], metadata: {}, revision: 0 }, "load");
      expectEqual(await store.load("nobody", 3), { messages: [], metadata: {}, revision: 0 }, "load with known");
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
      expectEqual(await store.load("s"), { ...session, revision }, "load");
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
      expectEqual(await store.load("s"), { messages: everyMessage(), metadata: valueTypes(), revision: 2 }, "load");
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
        expectEqual(await store.load(id), { messages: [note("m", id + HOSTILE_TEXT)], metadata, revision: 1 }, "load");
      }
      await append("a", deltaOf("again", undefined, [], { unset: [HOSTILE_TEXT, "__proto__", "\ud800"] }));
      const { metadata: left } = await store.load("a");
      expectEqual(left, { constructor: 1, toString: "x", "\ufffd": "replacement" }, "metadata after unset");
    },
  },
  {
    id: "large-text",
    title: "a text of ten million characters comes back whole",
    async check({ store }) {
      const text = `${"x".repeat(10_000_000)}\u{1f600}`;
      await store.save("s", { messages: [note("m", text)], metadata: {}, revision: 0 });
      const [message] = (await store.load("s")).messages;
      const part = message?.role === "user" ? message.content[0] : undefined;
      expectThat(part?.type === "text" && part.text === text, "the text differs");
    },
  },
  {
    id: "input-isolation",
    title: "changing what was given to the store afterwards changes nothing stored, and the store does not freeze it",
    async check({ store }) {
      const given = { messages: everyMessage(), metadata: { list: [1] }, revision: 0 };
      await store.save("s", given);
      expectThat(change(given) === 3, "the store froze what it was given");
      await expectUnchanged(await store.load("s"), { list: [1] });
      if (store.append === undefined) return;
      const delta = { messages: everyMessage(), metadata: { list: [1] } };
      await store.append("t", deltaOf("o", 0, delta.messages, { metadata: delta.metadata }));
      expectThat(change(delta) === 3, "the store froze what it was given");
      await expectUnchanged(await store.load("t"), { list: [1] });
    },
  },
  {
    id: "output-isolation",
    title: "changing what was loaded, or failing to, changes nothing stored",
    async check({ store }) {
      await store.save("s", { messages: everyMessage(), metadata: { list: [1] }, revision: 0 });
      const loaded = await store.load("s");
      change(loaded);
      await expectUnchanged(await store.load("s"), { list: [1] });
      expectThat(Array.isArray(loaded.messages) && !Object.isFrozen(loaded.messages), "the list is not the caller's");
    },
  },
  {
    id: "refused-bodies",
    title: "what JSON cannot hold is a SessionError and has no effect",
    async check({ store }) {
      const cyclic: Record<string, unknown> = { role: "user", id: "m", at: 1, content: [] };
      cyclic["self"] = cyclic;
      for (const bad of [cyclic, { ...note("m"), at: Number.NaN }, { ...note("m"), big: 1n }]) {
        const messages = [note("ok"), bad as AgentMessage];
        const save = (): unknown => store.save("s", { messages, metadata: {}, revision: 0 });
        await expectRejection(save, SessionError, ["save"], "save");
        if (store.append === undefined) continue;
        await expectRejection(() => store.append?.("s", deltaOf("o", 0, messages)), SessionError, ["save"], "append");
      }
      expectEqual(await store.load("s"), { messages: [], metadata: {}, revision: 0 }, "load");
    },
  },
];

async function expectUnchanged(loaded: Session, metadata: Session["metadata"]): Promise<void> {
  expectEqual(loaded.messages, everyMessage(), "messages");
  expectEqual(loaded.metadata, metadata, "metadata");
}

/** Tries to change a list, a message and metadata the way a careless caller would; answers how many attempts took effect. */
function change(session: Pick<Session, "messages" | "metadata">): number {
  const messages = session.messages as AgentMessage[];
  const first = messages[0] as unknown as { content: { text: string }[] };
  const attempts = [
    () => Object.assign(first.content[0] ?? {}, { text: "changed" }),
    () => (session.metadata["list"] as number[]).push(2),
    () => messages.splice(1),
  ];
  return attempts.filter((attempt) => {
    try {
      attempt();
      return true;
    } catch {
      return false;
    }
  }).length;
}
