import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { ModelError } from "../../src/domain/errors.js";
import type { Observer } from "../../src/ports/observer.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolDef,
  toolOutcome,
  traceOf,
} from "../../src/testkit/index.js";
import { sqliteFixture } from "../adapters/sessions/sqlite-fixture.js";
import { callsOf, expectLawful, rejectionOf, terminals, toldResults, unhandledDuring } from "../support/turns.js";

test("F092: a model that never stops calling is asked three times for two rounds; the session goes on", async () => {
  const script = ["c1", "c2", "c3"].map((id) => toolCallResponse("f", id));
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("more") }, config: { maxToolRounds: 2 } });
  const error = await rejectionOf(t.agent.runTurn("go", "s"));
  expect(error.kind).toBe("tool-loop-exceeded");
  expect(error.message).toContain("2 rounds");
  expect(t.model.callCount).toBe(3);
  expect(t.tools.execRecords.map(({ callId }) => callId)).toEqual(["c1", "c2"]);
  await expectLawful(t, "s");
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("and now?", "s")).text).toBe("back");
});

test("F092: onToolRoundLimit: stop says so in the result instead", async () => {
  const script = ["c1", "c2", "c3"].map((id) => toolCallResponse("f", id));
  const config = { maxToolRounds: 2, onToolRoundLimit: "stop" as const };
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("more") }, config });
  const result = await t.agent.runTurn("go", "s");
  expect(result).toMatchObject({ status: "stopped", stopReason: "tool-round-limit" });
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "completed", "not-started"]);
  await expectLawful(t, "s");
});

test("F094: an abort before the first delta stores and sends no empty reply", async () => {
  await using t = await testAgent({ script: [modelStep.hang(), stopResponse("again")] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort();
  await turn.result;
  await t.agent.runTurn("again", "s");
  expect(t.model.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "user"]);
});

test("F096: a tool that ignores its signal cannot keep an aborted turn", async () => {
  const late = Promise.withResolvers<string>();
  const provider: ToolProvider = { listTools: () => [toolDef("f")], execute: () => late.promise };
  await using t = await testAgent({ script: [toolCallResponse("f", "c1")], providers: [provider] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(50);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  const stored = JSON.stringify(await t.agent.session("s"));
  expect(stored).toContain('"isError":true');
  expect(await unhandledDuring(async () => late.reject(new Error("late")))).toEqual([]);
  expect(JSON.stringify(await t.agent.session("s"))).toBe(stored);
});

test("F097: a signal that was aborted before ends the turn at once, and nobody is asked", async () => {
  await using t = await testAgent();
  const result = await t.agent.runTurn("x", "s", { signal: AbortSignal.abort("before") });
  expect(result).toMatchObject({ status: "aborted", stopReason: "before" });
  expect(t.model.callCount).toBe(0);
});

test("F097: an abort between reply and tool starts no tool", async () => {
  const controller = new AbortController();
  const observer: Observer = { onEvent: (event) => void (event.type === "modelResponse" && controller.abort()) };
  const options = { script: [toolCallResponse("f", "c1")], tools: { f: toolOutcome.ok() }, observers: [observer] };
  await using t = await testAgent(options);
  expect((await t.agent.runTurn("x", "s", { signal: controller.signal })).status).toBe("aborted");
  expect(t.tools.execRecords).toEqual([]);
  await expectLawful(t, "s");
});

test("F099: a failure that is only watched through the events is seen once, and nothing is left unhandled", async () => {
  const script = [modelStep.fail(new ModelError("server", "500"), [{ type: "textDelta", text: "a" }])];
  await using t = await testAgent({ script });
  const seen: string[] = [];
  const unhandled = await unhandledDuring(async () => {
    for await (const event of t.agent.startTurn("hi", "s")) seen.push(event.type);
  });
  expect(seen.filter((type) => type === "turnFailed")).toHaveLength(1);
  expect(unhandled).toEqual([]);
});

test("F104: a call of a tool that does not exist is told to the model", async () => {
  const script = [toolCallResponse("subtract", "c1"), stopResponse("sorry")];
  await using t = await testAgent({ script, tools: { add: toolOutcome.ok() } });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("sorry");
  expect(toldResults(t)["c1"]).toContain("subtract");
});

test("F106: one of three parallel tools that throws takes nothing from the others", async () => {
  const tools = new RecordingToolProvider()
    .add("a", toolOutcome.ok("one"))
    .add("b", toolOutcome.throws(new Error("bad")))
    .add("c", toolOutcome.held());
  await using t = await testAgent({ script: [callsOf("a", "b", "c"), stopResponse("done")], tools });
  const turn = t.agent.runTurn("hi", "s");
  await tools.started("c3");
  tools.settle("c3", toolOutcome.ok("three"));
  await turn;
  expect(Object.entries(toldResults(t))).toEqual([
    ["c1", "one"],
    ["c2", expect.stringContaining("bad")],
    ["c3", "three"],
  ]);
  expect(tools.execRecords).toHaveLength(3);
});

test("F107: whatever tools throw is told in words, never as [object Object]", async () => {
  const values: unknown[] = ["plain", { code: 7, message: "obj" }, undefined, null, new Error("sync")];
  const provider: ToolProvider = {
    listTools: () => [toolDef("f")],
    execute: () => {
      throw values.shift();
    },
  };
  const script = [callsOf("f", "f", "f", "f", "f"), stopResponse("done")];
  await using t = await testAgent({ script, providers: [provider] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  const texts = Object.values(toldResults(t));
  expect(texts).toHaveLength(5);
  for (const word of ["plain", "obj", "sync"]) expect(texts.join(" ")).toContain(word);
  expect(texts.join(" ")).not.toContain("[object Object]");
});

test("F109: an observer that throws, or rejects, changes nothing for the other", async () => {
  const run = async (observers: readonly Observer[]): Promise<readonly string[]> => {
    await using t = await testAgent({ script: [stopResponse("ok")], observers });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("ok");
    expect(terminals(t.observer.events)).toHaveLength(1);
    return traceOf(t.observer);
  };
  const throws: Observer = {
    onEvent: () => {
      throw new Error("observer");
    },
  };
  const rejects = { onEvent: () => Promise.reject(new Error("observer")) } as unknown as Observer;
  const alone = await run([]);
  const unhandled = await unhandledDuring(async () => {
    expect(await run([throws, rejects])).toEqual(alone);
  });
  expect(unhandled).toEqual([]);
});

test("F111: two hundred turns leave no listener on the caller's signal and cause no warning", async () => {
  const { signal } = new AbortController();
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", note);
  await using t = await testAgent({ tools: { f: toolOutcome.ok("x") }, sessions: [new MemorySessionStore()] });
  for (let turn = 0; turn < 200; turn++) {
    t.model.push(callsOf("f", "f", "f"), stopResponse("done"));
    await t.agent.runTurn("hi", `s${turn % 5}`, { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  }
  await t.runtime.advance(0);
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test("F112: a tool that never answers is ended by an abort, and its siblings keep their results", async () => {
  const tools = { f: toolOutcome.hangs({ ignoreAbort: true }), g: toolOutcome.ok("fine") };
  await using t = await testAgent({ script: [callsOf("f", "g")], tools });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).exchanges.map(({ outcome }) => outcome)).toEqual(["unknown", "completed"]);
});

/** A turn whose tool returns `value`, on a store in a file, and another turn after it. */
async function twoTurns(value: object | string): Promise<{ readonly sent: string; readonly stored: string }> {
  await using fixture = sqliteFixture();
  await using t = await testAgent({
    script: [toolCallResponse("f", "c1"), stopResponse("done"), stopResponse("next")],
    tools: { f: toolOutcome.ok(value) },
    sessions: [fixture.store],
  });
  await t.agent.runTurn("hi", "s");
  const sent = toldResults(t)["c1"] ?? "";
  expect((await t.agent.runTurn("next", "s")).text).toBe("next");
  await expectLawful(t, "s");
  expect(toldResults(t)["c1"]).toBe(sent);
  return { sent, stored: JSON.stringify(await t.agent.session("s")) };
}

const LIMIT = 256 * 1024;

test("F122: a bigint in a result is told by its digits, and the session loads", async () => {
  const { sent, stored } = await twoTurns({ total: 98765432109876543210n, parts: [7n] });
  for (const text of [sent, stored]) expect(text).toContain("98765432109876543210");
});

test("F123: a circular result is told with a marker, a shared part without one", async () => {
  const o: Record<string, unknown> = { name: "x" };
  o["self"] = o;
  expect((await twoTurns(o)).sent).toMatch(/x.*circular/);
  const shared = { n: 1 };
  expect(JSON.parse((await twoTurns({ a: shared, b: shared })).sent)).toEqual({ a: { n: 1 }, b: { n: 1 } });
});

test("F125: text is cut at a code point, wherever the limit falls", async () => {
  for (let shift = -3; shift <= 3; shift++) {
    const { sent, stored } = await twoTurns(`${"a".repeat(LIMIT + shift)}🔥${"b".repeat(50)}`);
    expect(sent.isWellFormed() && stored.isWellFormed()).toBe(true);
    expect(new TextEncoder().encode(sent).length).toBeLessThanOrEqual(LIMIT);
  }
});

test("F127: a result of twelve million characters is cut to the limit and says so", async () => {
  const { sent } = await twoTurns("x".repeat(12_000_000));
  expect(sent.length).toBeLessThanOrEqual(LIMIT);
  expect(sent).not.toBe("x".repeat(sent.length));
});

test("F128: a large object is cut in its text, never in the structure of the session", async () => {
  const rows = Array.from({ length: 10_000 }, (_, n) => ({ n, text: "x".repeat(40) }));
  const { sent, stored } = await twoTurns({ rows });
  expect(sent.length).toBeLessThanOrEqual(LIMIT);
  expect(JSON.parse(stored)).toHaveProperty("messages");
});
