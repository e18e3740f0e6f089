import { describe, expect, test } from "vitest";
import { MemoryError } from "../../src/domain/errors.js";
import { userMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { MemoryPort } from "../../src/ports/memory.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import { RecordingMemory, RecordingSessionStore, stopResponse, testAgent } from "../../src/testkit/index.js";
import { sent, stored } from "../support/conversations.js";
import { textFrom } from "../support/texts.js";
import { rejectionOf } from "../support/turns.js";

const replies = (count: number) => Array.from({ length: count }, (_, n) => stopResponse(`reply ${n}`));
const session = { messages: [], metadata: {}, revision: 1 };

/** What a method answers, whatever its type says. */
function answers<M extends (...args: never[]) => unknown>(value: unknown): M {
  return (async () => value) as unknown as M;
}

describe("a store that answers a load with", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "session"],
    ["messages that are no list", { ...session, messages: "none" }],
    ["a message that is null", { ...session, messages: [null] }],
    ["no metadata", { ...session, metadata: undefined }],
    ["metadata that are null", { ...session, metadata: null }],
    ["a negative from", { ...session, from: -1 }],
    ["a revision that is not a number", { ...session, revision: Number.NaN }],
    ["a negative revision", { ...session, revision: -1 }],
    ["no revision", { ...session, revision: undefined }],
    ["a compaction that is none", { ...session, compaction: { upTo: 7 } }],
  ])("%s fails the turn as a session, loses nothing, and the next turn works (S1)", async (_, answer) => {
    const store = new RecordingSessionStore();
    await using t = await testAgent({ script: replies(2), sessions: [store] });
    await t.agent.runTurn("hi", "s");
    const load = store.load.bind(store);
    store.load = answers(answer);
    const errors = [
      await rejectionOf(t.agent.runTurn("again", "s")),
      await rejectionOf(t.agent.session("s")),
      await rejectionOf(t.agent.sessions.fork("s")),
      await rejectionOf(t.agent.appendMessage("s", userMessage("more"))),
    ];
    for (const error of errors) {
      expect(error).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "corrupt" } });
      expect(error.message).toContain("could not load session s");
    }
    store.load = load;
    expect(await stored(t)).toEqual(["user hi", "assistant reply 0"]);
    await t.agent.runTurn("once more", "s");
    expect(sent(t)).toEqual(["user hi", "assistant reply 0", "user once more"]);
  });
});

describe("a store that answers an append with", () => {
  test.each([
    ["nothing", undefined],
    ["text", "7"],
    ["NaN", Number.NaN],
    ["null", null],
    ["a negative", -1],
  ])("%s fails the turn as a session, loses nothing, and the next turn works (S1)", async (_, answer) => {
    const store = new RecordingSessionStore();
    await using t = await testAgent({ script: replies(3), sessions: [store] });
    await t.agent.runTurn("hi", "s");
    const append = store.append.bind(store);
    store.append = async (id, delta) => {
      await append(id, delta);
      return answer as number;
    };
    const error = await rejectionOf(t.agent.runTurn("again", "s"));
    expect(error).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "save" } });
    expect(error.message).toContain("could not append to session s");
    store.append = append;
    await t.agent.runTurn("once more", "s");
    expect(sent(t)).toEqual(["user hi", "assistant reply 0", "user again", "user once more"]);
  });
});

describe("sessions", () => {
  test("delete says so where a store cannot, and deletes nothing from the others", async () => {
    const able = new RecordingSessionStore();
    const unable: SessionStore = {
      load: (id, known) => able.load(id, known),
      save: (id, saved, options) => able.save(id, saved, options),
    };
    for (const sessions of [[unable], [able, unable]]) {
      await using t = await testAgent({ script: replies(1), sessions });
      able.seed("s", { messages: [], metadata: { title: "t" } });
      await expect(t.agent.sessions.delete("s")).rejects.toMatchObject({ name: "SessionError", kind: "save" });
      expect((await t.agent.session("s")).metadata).toEqual({ title: "t" });
    }
  });

  test("a list that hangs is given up after storeTimeoutMs", async () => {
    const store = new RecordingSessionStore();
    store.list = () => Promise.withResolvers<never>().promise;
    await using t = await testAgent({ sessions: [store] });
    const list = rejectionOf(t.agent.sessions.list());
    await t.runtime.advance(30_000);
    expect(await list).toMatchObject({ kind: "session" });
  });

  test("the lease of another turn is neither exported nor imported nor forked (S2)", async () => {
    await using t = await testAgent({ script: replies(1) });
    const metadata = { title: "t", [SESSION_KEYS.turn]: { turnId: "other", until: 1e15 } };
    t.sessions.seed("s", { metadata });
    expect(await textFrom(t.agent.sessions.export("s"))).not.toContain(SESSION_KEYS.turn);
    expect((await t.agent.session("s")).metadata).toEqual(metadata);
    await t.agent.sessions.import({ messages: [], metadata, revision: 7 }, { id: "copy" });
    expect((await t.agent.session("copy")).metadata).toEqual({ title: "t" });
    expect((await t.agent.runTurn("hi", "copy")).status).toBe("completed");
  });

  test("stored usage is decoded: what is no count adds nothing to the next turn's", async () => {
    await using t = await testAgent({ script: [{ ...stopResponse("x"), usage: { inputTokens: 3 } }] });
    t.sessions.seed("s", { metadata: { [SESSION_KEYS.usage]: { session: { inputTokens: "7", outputTokens: 2 } } } });
    expect(await t.agent.usage("s")).toMatchObject({ session: { outputTokens: 2 }, turn: { modelCalls: 0 } });
    await t.agent.runTurn("hi", "s");
    expect((await t.agent.usage("s"))?.session).toEqual({ inputTokens: 3, outputTokens: 2 });
  });
});

describe("a memory that answers", () => {
  const entry = { content: "x" };
  test.each<[string, Partial<MemoryPort>, (memory: MemoryPort) => Promise<unknown>]>([
    ["a store without an id", { store: answers(undefined) }, (memory) => memory.store(entry)],
    ["a store with a number", { store: answers(7) }, (memory) => memory.store(entry)],
    ["a search with nothing", { search: answers(undefined) }, (memory) => memory.search({ query: "x" })],
    ["a search with no list", { search: answers("hits") }, (memory) => memory.search({ query: "x" })],
    ["a search with null", { search: answers([null]) }, (memory) => memory.search({ query: "x" })],
    [
      "a search with no content",
      { search: answers([{ id: "m", metadata: {} }]) },
      (memory) => memory.search({ query: "x" }),
    ],
    [
      "a search with a score of text",
      { search: answers([{ id: "m", content: "c", metadata: {}, score: "1" }]) },
      (memory) => memory.search({ query: "x" }),
    ],
  ])("%s is named by a MemoryError, and left out where it is optional", async (_, members, ask) => {
    const bad = Object.assign(new RecordingMemory({ name: "bad" }), members);
    await using t = await testAgent({ memory: [new RecordingMemory({ name: "good" }), bad] });
    const error: unknown = await ask(t.agent.memory).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MemoryError);
    expect(error).toMatchObject({ message: expect.stringContaining("memory bad") });
    const optional = Object.assign(new RecordingMemory({ name: "bad", optional: true }), members);
    await using u = await testAgent({ memory: [new RecordingMemory({ name: "good" }), optional] });
    await expect(ask(u.agent.memory)).resolves.toBeDefined();
  });
});
