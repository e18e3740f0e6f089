import { expect, test } from "vitest";
import type { AgentMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { everyMessage, note, sessionOf } from "../../src/testkit/claims/session-samples.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { leaseOf, linesOf, SaveOnlyStore, sent, stored } from "../support/conversations.js";
import { textFrom } from "../support/texts.js";
import { hookAt, rejectionOf } from "../support/turns.js";

test("a session exported while a tool of its turn runs holds what is stored by then, and is resumed elsewhere (S3, S6)", async () => {
  const script = [toolCallResponse("f", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.held() } });
  const turn = t.agent.startTurn("hi", "s");
  await t.tools.started("c1");
  const during = await t.agent.session("s");
  const text = await textFrom(t.agent.sessions.export("s"));
  expect(leaseOf(during)).toBeDefined();
  expect(text).not.toContain(turn.id.concat('","until'));
  t.tools.settle("c1", toolOutcome.ok("fine"));
  await turn.result;

  await using other = await testAgent({ script: [stopResponse("elsewhere")], tools: { f: toolOutcome.ok("again") } });
  expect(await other.agent.sessions.import(text)).toBe("s");
  const imported = await other.agent.session("s");
  expect(imported.messages).toEqual(during.messages);
  expect(leaseOf(imported)).toBeUndefined();
  expect((await other.agent.resumeTurn("s")).text).toBe("elsewhere");
  expect(sent(other)).toEqual(["user hi", "calls c1", expect.stringMatching(/^c1 = !.*unknown/)]);
  expect(other.tools.execRecords).toEqual([]);
});

test("a call that waits for a decision is exported, and decided where the session was imported (U5)", async () => {
  const waits = (): { hooks: ReturnType<typeof hookAt>[]; tools: { pay: ReturnType<typeof toolOutcome.ok> } } => ({
    hooks: [hookAt("beforeTool", (_, context) => (context.decision === undefined ? context.defer("ask") : undefined))],
    tools: { pay: toolOutcome.ok("paid") },
  });
  await using t = await testAgent({ script: [toolCallResponse("pay", "c1")], ...waits() });
  await t.agent.runTurn("pay", "s");
  await using other = await testAgent({ script: [stopResponse("done")], ...waits() });
  await other.agent.sessions.import(t.agent.sessions.export("s"));
  const result = await other.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
  expect([result.status, other.tools.execRecords.length]).toEqual(["completed", 1]);
});

test("an import goes to all stores, and what is there already stays unless `replace` says otherwise (S1)", async () => {
  const sessions = [new RecordingSessionStore(), new RecordingSessionStore()] as const;
  await using t = await testAgent({ script: [stopResponse("one")], sessions });
  await t.agent.runTurn("hi", "s");
  const before = await t.agent.session("s");
  const text = await textFrom(t.agent.sessions.export("s"));
  const refused = await rejectionOf(t.agent.sessions.import(sessionOf(0, "other"), { id: "s" }));
  expect(refused).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "conflict" } });
  for (const store of sessions) expect((await store.load("s")).messages).toEqual(before.messages);
  await t.agent.sessions.import(sessionOf(0, "other"), { id: "s", replace: true });
  for (const store of sessions) expect((await store.load("s")).messages).toEqual([note("other")]);
  await t.agent.sessions.import(text, { replace: true });
  for (const store of sessions) expect((await store.load("s")).messages).toEqual(before.messages);
  const made = await t.agent.sessions.import(sessionOf(7, "new"));
  expect(await stored(t, made)).toEqual(["user new"]);
});

test("an import that is damaged is invalid input that names the line, and no store has anything of it", async () => {
  await using t = await testAgent({ script: [stopResponse("one")] });
  await t.agent.runTurn("hi", "s");
  const text = await textFrom(t.agent.sessions.export("s"));
  const [head = "", first = ""] = text.split("\n");
  const roleless = first.replace('"role":"user"', '"role":7');
  for (const [damaged, line] of [
    [text.slice(0, -30), "line 3"],
    [[head, first].join("\n"), "line 2"],
    [[head, roleless, ...text.split("\n").slice(2)].join("\n"), "line 2"],
    [head.replace('"version":1', '"version":2'), "line 1"],
  ] as const) {
    const error = await rejectionOf(t.agent.sessions.import(damaged, { id: "copy" }));
    expect(error.kind).toBe("invalid-input");
    expect(error.message).toContain(line);
  }
  expect((await t.agent.session("copy")).revision).toBe(0);
});

test("whatever is stored can be exported and imported, as it is: fields and parts of newer versions, reasons no version knows", async () => {
  const odd = { role: "assistant", id: "o", at: 1, parts: [], finishReason: "sunset", usage: { inputTokens: "x" } };
  const image = { role: "user", id: "i", at: 1, content: [{ type: "image" }] };
  const messages = [...everyMessage(), odd, image] as unknown as AgentMessage[];
  const whole = { messages, metadata: { k: 1 }, compaction: { upTo: "m1", messages: [note("short")] }, v2: { a: 1 } };
  await using t = await testAgent();
  await t.sessions.save("s", { ...whole, revision: 0 });
  await t.agent.sessions.import(t.agent.sessions.export("s"), { id: "copy" });
  expect(await t.sessions.load("copy")).toEqual({ ...whole, revision: 1 });
});

test("fields of a newer version stay in a session that is forked, and in one whose store has no append (F139)", async () => {
  const store = new RecordingSessionStore();
  await store.save("s", { ...sessionOf(0, "a"), ...{ v2: { a: 1 } } });
  await using t = await testAgent({ script: [stopResponse("one")], sessions: [new SaveOnlyStore(store)] });
  await t.agent.runTurn("hi", "s");
  expect(await store.load("s")).toMatchObject({ v2: { a: 1 } });
  expect(await store.load(await t.agent.sessions.fork("s"))).toMatchObject({ v2: { a: 1 }, revision: 1 });
});

test("fields of a newer version are in a mirror that was behind and is replaced (S1, F139)", async () => {
  const sessions = [new RecordingSessionStore(), new RecordingSessionStore()] as const;
  await sessions[0].save("s", { ...sessionOf(0, "a"), ...{ v2: { a: 1 } } });
  await using t = await testAgent({ script: [stopResponse("one")], sessions });
  await t.agent.runTurn("hi", "s");
  const [authority, mirror] = [await sessions[0].load("s"), await sessions[1].load("s")];
  expect({ ...mirror, revision: 0 }).toEqual({ ...authority, revision: 0 });
  expect(mirror).toHaveProperty("v2", { a: 1 });
});

test("a fork of a session with a lease and a call that waits has neither, and the session keeps both (S2, U5)", async () => {
  const hooks = [hookAt("beforeTool", (_, context) => context.defer("ask"))];
  await using t = await testAgent({ script: [toolCallResponse("pay", "c1")], tools: { pay: toolOutcome.ok() }, hooks });
  await t.agent.runTurn("pay", "s");
  await t.sessions.append("s", { operationId: "l", messages: [], metadata: { [SESSION_KEYS.turn]: { turnId: "x" } } });
  const before = await t.agent.session("s");
  const fork = await t.agent.session(await t.agent.sessions.fork("s", before.messages[1]?.id));
  expect(linesOf(fork.messages)).toEqual(["user pay", "calls c1", expect.stringMatching(/^c1 = !/)]);
  expect(fork.metadata).toEqual({ [SESSION_KEYS.parent]: "s" });
  expect(fork.revision).toBe(1);
  expect(await t.agent.session("s")).toEqual(before);
});

test("a fork of what nobody has written is a typed error and makes nothing, as is its export", async () => {
  await using t = await testAgent();
  expect(await rejectionOf(t.agent.sessions.fork("ghost"))).toMatchObject({ kind: "session" });
  expect(await rejectionOf(textFrom(t.agent.sessions.export("ghost")))).toMatchObject({ kind: "session" });
  expect((await t.agent.sessions.list()).items).toEqual([]);
});
