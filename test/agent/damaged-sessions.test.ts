import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { AgentMessage } from "../../src/domain/message.js";
import { RecordingSessionStore, stopResponse, testAgent } from "../../src/testkit/index.js";
import { sqliteFixture, sqlOn } from "../adapters/sessions/sqlite-fixture.js";
import { sent, stored } from "../support/conversations.js";
import { rejectionOf, terminals, unhandledDuring } from "../support/turns.js";

const replies = (count: number) => Array.from({ length: count }, (_, n) => stopResponse(`reply ${n}`));

test("a damaged session fails its turn as corrupt and loses nothing; the agent goes on with the others", async () => {
  await using fixture = sqliteFixture();
  await using t = await testAgent({ script: replies(4), sessions: [fixture.store], config: { sessionCache: 0 } });
  await t.agent.runTurn("hi", "hurt");
  await t.agent.runTurn("hi", "well");
  sqlOn(fixture.path, "UPDATE ennead_messages SET body = '{\"role\":\"us' WHERE body LIKE '%reply 0%'");
  const rows = (): unknown => sqlOn(fixture.path, "SELECT * FROM ennead_messages");
  const before = rows();
  const unhandled = await unhandledDuring(async () => {
    const error = await rejectionOf(t.agent.runTurn("again", "hurt"));
    expect(error).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "corrupt" } });
    expect(error.message).toContain("load session hurt");
    expect(await rejectionOf(t.agent.session("hurt"))).toMatchObject({ cause: { kind: "corrupt" } });
    expect(await rejectionOf(t.agent.sessions.fork("hurt"))).toMatchObject({ cause: { kind: "corrupt" } });
  });
  expect(unhandled).toEqual([]);
  expect(rows()).toEqual(before);
  expect(t.model.callCount).toBe(2);
  expect(terminals(t.observer.events)).toEqual(["turnCompleted", "turnCompleted", "turnFailed"]);
  await t.agent.runTurn("more", "well");
  expect(sent(t)).toEqual(["user hi", "assistant reply 1", "user more"]);
});

test("a file that is no database fails every turn as corrupt, is left as it is, and the process lives", async () => {
  await using fixture = sqliteFixture();
  writeFileSync(fixture.path, "once upon a time");
  await using t = await testAgent({ script: replies(1), sessions: [fixture.store] });
  for (const id of ["a", "b"]) {
    expect(await rejectionOf(t.agent.runTurn("hi", id))).toMatchObject({ kind: "session", cause: { kind: "corrupt" } });
  }
  expect(readFileSync(fixture.path, "utf8")).toBe("once upon a time");
  expect(t.model.callCount).toBe(0);
});

const malformed = [
  ["a reply without parts", { role: "assistant", id: "m", at: 1 }],
  ["a message without role", { id: "m", at: 1, content: [] }],
  ["text in place of a message", "hi"],
  ["parts that are none", { role: "user", id: "m", at: 1, content: [1, null] }],
] as const;

test.each(malformed)(
  "a session file that holds %s fails the turn as a session, and stays as it is",
  async (_, message) => {
    await using fixture = sqliteFixture();
    await using t = await testAgent({ script: replies(3), sessions: [fixture.store], config: { sessionCache: 0 } });
    await t.agent.runTurn("hi", "hurt");
    const body = JSON.stringify(message);
    sqlOn(fixture.path, `UPDATE ennead_messages SET body = '${body}' WHERE position = 0`);
    const error = await rejectionOf(t.agent.runTurn("again", "hurt"));
    expect(error).toMatchObject({ kind: "session" });
    expect(terminals(t.observer.events)).toEqual(["turnCompleted", "turnFailed"]);
    expect(sqlOn(fixture.path, "SELECT body FROM ennead_messages")).toHaveLength(2);
    expect((await t.agent.runTurn("hi", "well")).status).toBe("completed");
  },
);

test.each(malformed)(
  "a session with %s is refused when it is imported, and what was stored stays",
  async (_, message) => {
    await using t = await testAgent({ script: replies(1) });
    await t.agent.runTurn("hi", "s");
    const messages = [message as unknown as AgentMessage];
    const error = await rejectionOf(
      t.agent.sessions.import({ messages, metadata: {}, revision: 0 }, { id: "s", replace: true }),
    );
    expect(error).toMatchObject({ kind: "invalid-input" });
    expect(await stored(t)).toEqual(["user hi", "assistant reply 0"]);
  },
);

test("a session written by hand may give text in place of parts, and no ids", async () => {
  await using t = await testAgent({ script: replies(1) });
  const messages = [{ role: "user", content: "by hand" } as unknown as AgentMessage];
  await t.agent.sessions.import({ messages, metadata: {}, revision: 0 }, { id: "s", replace: true });
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user by hand", "user hi"]);
  expect((await t.agent.session("s")).messages[0]).toMatchObject({ id: expect.any(String), at: expect.any(Number) });
});

test("a load that failed half way leaves nothing half in memory", async () => {
  const store = new RecordingSessionStore();
  await using t = await testAgent({ script: replies(3), sessions: [store] });
  await t.agent.runTurn("hi", "s");
  const load = store.load.bind(store);
  store.load = async (id) => {
    const whole = await load(id);
    return { ...whole, messages: [...whole.messages.slice(0, 1), { role: "user" } as unknown as AgentMessage] };
  };
  await rejectionOf(t.agent.runTurn("again", "s"));
  store.load = load;
  await t.agent.runTurn("once more", "s");
  expect(sent(t)).toEqual(["user hi", "assistant reply 0", "user once more"]);
});

test("a store that leaves out messages its reader does not have fails the turn instead of losing them (S1)", async () => {
  const store = new RecordingSessionStore();
  await using t = await testAgent({ script: replies(1), sessions: [store] });
  store.load = async () => ({ messages: [], metadata: {}, revision: 7, from: 12 });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.message).toContain("could not load session s");
});

test("a load that hangs fails the turn after storeTimeoutMs, and an abort ends it within a second (S1, L5)", async () => {
  const store = new RecordingSessionStore();
  store.load = () => Promise.withResolvers<never>().promise;
  await using t = await testAgent({ script: replies(1), sessions: [store] });
  const [slow, aborted] = [t.agent.startTurn("hi", "a"), t.agent.startTurn("hi", "b")];
  await t.runtime.advance(0);
  aborted.abort();
  await t.runtime.advance(1_000);
  expect((await aborted.result).status).toBe("aborted");
  await t.runtime.advance(30_000);
  expect(await rejectionOf(slow.result)).toMatchObject({ kind: "session" });
});

test("a mirror that is damaged fails the turn and names itself; the authority has the conversation (S1)", async () => {
  await using authority = sqliteFixture();
  await using mirror = sqliteFixture();
  writeFileSync(mirror.path, "once upon a time");
  await using t = await testAgent({ script: replies(1), sessions: [authority.store, mirror.store] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "session", cause: { kind: "corrupt" } });
  expect(error.message).toContain("mirror");
  expect(await stored(t)).toEqual(["user hi"]);
});

test.each([
  "../../escape",
  "/etc/passwd",
  "C:\\x",
  "a/b",
  "..",
  "",
  "x\u0000y",
  "%2e%2e%2f",
  "'; DROP TABLE ennead_messages; --",
])("the session id %j is an ordinary one: turns, forks and errors keep to the store", async (id) => {
  await using fixture = sqliteFixture();
  await using t = await testAgent({ script: replies(3), sessions: [fixture.store] });
  await t.agent.runTurn("hi", id);
  await t.agent.runTurn("more", id);
  expect(sent(t)).toEqual(["user hi", "assistant reply 0", "user more"]);
  expect(await stored(t, await t.agent.sessions.fork(id))).toHaveLength(4);
  expect(existsSync(join(dirname(fixture.path), "..", "..", "escape"))).toBe(false);
});

test("turns of agents on two connections to one file see each other's messages (S1, S2)", async () => {
  await using fixture = sqliteFixture();
  const other = fixture.reopen?.();
  if (other === undefined) throw new Error("the fixture opens no second store");
  await using a = await testAgent({ script: replies(2), sessions: [fixture.store] });
  await using b = await testAgent({ script: replies(1), sessions: [await other] });
  await a.agent.runTurn("a0", "s", { turnId: "t0" });
  await b.agent.runTurn("b0", "s", { turnId: "t1" });
  await a.agent.runTurn("a1", "s", { turnId: "t2" });
  expect(sent(a)).toEqual(["user a0", "assistant reply 0", "user b0", "assistant reply 0", "user a1"]);
});
