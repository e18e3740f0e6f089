import { expect, test } from "vitest";
import type { LoadedSession } from "../../src/domain/session.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgent,
  testRuntime,
} from "../../src/testkit/index.js";
import { leaseOf, sent, user, writeElsewhere } from "../support/conversations.js";

/** Counts the messages that loads answer with. */
class CountingStore extends RecordingSessionStore {
  readonly loads: { readonly known: number | undefined; readonly messages: number }[] = [];

  override async load(id: string, known?: number): Promise<LoadedSession> {
    const loaded = await super.load(id, known);
    this.loads.push({ known, messages: loaded.messages.length });
    return loaded;
  }
}

const replies = (count: number) => Array.from({ length: count }, (_, n) => stopResponse(`reply ${n}`));

async function turns(t: TestAgent, ids: readonly string[]): Promise<void> {
  for (const [n, id] of ids.entries()) await t.agent.runTurn(`ask ${n}`, id);
}

test("a turn asks for what follows the revision its agent knows, and is answered with nothing old (S1)", async () => {
  const store = new CountingStore();
  store.seed("s", { messages: Array.from({ length: 500 }, (_, n) => user(`m${n}`)) });
  await using t = await testAgent({ script: replies(4), sessions: [store] });
  await turns(t, ["s", "s", "s", "s"]);
  expect(store.loads.map(({ messages }) => messages)).toEqual([500, 0, 0, 0]);
  const { revision } = await store.load("s");
  expect(store.loads.map(({ known }) => known).slice(0, 2)).toEqual([undefined, 1 + (revision - 1) / 4]);
  expect(t.model.requests.at(-1)?.messages).toHaveLength(500 + 7);
});

test("a turn of one reply writes three times: its input, the reply, the end (S3)", async () => {
  await using t = await testAgent({ script: replies(1) });
  await t.agent.runTurn("hi", "s");
  const ops = t.sessions.ops.map((op) => (op.type === "append" ? (op.delta?.messages.length ?? -1) : op.type));
  expect(ops).toEqual(["load", 1, 1, 0]);
  expect(t.sessions.saveSnapshots().map(({ session }) => leaseOf(session) !== undefined)).toEqual([true, true, false]);
});

test("turns of another agent in between are seen, and only they are read (S1)", async () => {
  const store = new CountingStore();
  const runtime = testRuntime();
  await using a = await testAgent({ script: replies(2), sessions: [store], runtime });
  await using b = await testAgent({ script: replies(2), sessions: [store], runtime });
  await a.agent.runTurn("a0", "s");
  await b.agent.runTurn("b0", "s");
  await b.agent.runTurn("b1", "s");
  store.loads.length = 0;
  await a.agent.runTurn("a1", "s");
  expect(store.loads.map(({ messages }) => messages)).toEqual([4]);
  expect(sent(a)).toEqual([
    "user a0",
    "assistant reply 0",
    "user b0",
    "assistant reply 0",
    "user b1",
    "assistant reply 1",
    "user a1",
  ]);
});

test("messages that somebody appended in between are seen; metadata that somebody patched is, too (S1)", async () => {
  await using t = await testAgent({ script: replies(3) });
  await t.agent.runTurn("one", "s");
  await writeElsewhere(t.sessions, "s", { messages: [user("between")] });
  await t.sessions.append("s", { operationId: "p", messages: [], metadata: { title: "new" } });
  await t.agent.runTurn("two", "s");
  expect(sent(t)).toEqual(["user one", "assistant reply 0", "user between", "user two"]);
  await t.agent.appendMessage("s", user("own"));
  await t.agent.runTurn("three", "s");
  expect(sent(t).slice(-3)).toEqual(["assistant reply 1", "user own", "user three"]);
  expect((await t.agent.session("s")).metadata).toMatchObject({ title: "new" });
});

test("a session that was replaced as a whole is read anew (S1)", async () => {
  await using t = await testAgent({ script: replies(3) });
  await t.agent.runTurn("one", "s");
  t.sessions.seed("s", { messages: [user("other")] });
  await t.agent.runTurn("two", "s");
  expect(sent(t)).toEqual(["user other", "user two"]);
  await t.agent.sessions.import(
    { messages: [user("imported")], metadata: {}, revision: 0 },
    { id: "s", replace: true },
  );
  await t.agent.runTurn("three", "s");
  expect(sent(t)).toEqual(["user imported", "user three"]);
});

test("a compaction that somebody wrote in between is honoured, also one that replaces another of its length (S1, C1)", async () => {
  await using t = await testAgent({ script: replies(3) });
  await t.agent.runTurn("one", "s");
  const [first] = (await t.agent.session("s")).messages;
  await writeElsewhere(t.sessions, "s", { compaction: { upTo: first?.id ?? "", messages: [user("short one")] } });
  await t.agent.runTurn("two", "s");
  expect(sent(t)).toEqual(["user short one", "assistant reply 0", "user two"]);
  await writeElsewhere(t.sessions, "s", { compaction: { upTo: first?.id ?? "", messages: [user("shorter")] } });
  await t.agent.runTurn("three", "s");
  expect(sent(t).slice(0, 2)).toEqual(["user shorter", "assistant reply 0"]);
});

test("the sessions used last stay known; the one used longest ago is read whole again (S1)", async () => {
  const store = new CountingStore();
  await using t = await testAgent({ script: replies(9), sessions: [store], config: { sessionCache: 2 } });
  await turns(t, ["a", "b", "a", "c"]);
  store.loads.length = 0;
  await turns(t, ["a", "c", "b", "a"]);
  expect(store.loads.map(({ known, messages }) => [known !== undefined, messages])).toEqual([
    [true, 0],
    [true, 0],
    [false, 2],
    [false, 6],
  ]);
});

test("without a cache every turn reads the whole session, and says the same (S1)", async () => {
  const store = new CountingStore();
  await using t = await testAgent({ script: replies(3), sessions: [store], config: { sessionCache: 0 } });
  await turns(t, ["s", "s", "s"]);
  expect(store.loads.map(({ known, messages }) => [known, messages])).toEqual([
    [undefined, 0],
    [undefined, 2],
    [undefined, 4],
  ]);
  expect(sent(t)).toHaveLength(5);
});

test("a store that always answers with everything is as good, only slower (S1)", async () => {
  class Whole extends RecordingSessionStore {
    override load(id: string): Promise<LoadedSession> {
      return super.load(id);
    }
  }
  await using t = await testAgent({ script: replies(3), sessions: [new Whole()] });
  await turns(t, ["s", "s", "s"]);
  expect(sent(t)).toEqual(["user ask 0", "assistant reply 0", "user ask 1", "assistant reply 1", "user ask 2"]);
});

test("a turn whose write failed leaves nothing behind that the store does not have (S1)", async () => {
  await using t = await testAgent({ script: replies(2) });
  await t.agent.runTurn("one", "s");
  t.sessions.failSave("s", { nth: 2 });
  await expect(t.agent.runTurn("two", "s")).rejects.toMatchObject({ kind: "session" });
  const next = t.agent.runTurn("three", "s");
  t.model.push(stopResponse("reply"));
  await t.runtime.advance(0);
  expect((await next).status).toBe("completed");
  expect(sent(t)).toEqual(["user one", "assistant reply 0", "user two", "user three"]);
});

test("a session deleted and made anew elsewhere shows nothing of the old one, at whatever revision it stands (S1)", async () => {
  const store = new RecordingSessionStore();
  await using first = await testAgent({ script: replies(2), sessions: [store] });
  await using second = await testAgent({ script: replies(3), sessions: [store] });
  await first.agent.runTurn("old secret", "s");
  const { revision } = await store.load("s");
  await second.agent.sessions.delete("s");
  await turns(second, ["s", "s"]);
  expect((await store.load("s")).revision).toBeGreaterThan(revision);
  // Two virtual runtimes count alike.
  await first.agent.runTurn("next", "s", { turnId: "next" });
  expect(sent(first)).not.toContain("user old secret");
  expect(sent(first)).toContain("user ask 1");
});
