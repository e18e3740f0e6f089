import { expect, test } from "vitest";
import { userMessage } from "../../src/domain/message.js";
import type { StageKind } from "../../src/domain/stage.js";
import type { StageContext } from "../../src/ports/hook.js";
import {
  RecordingHook,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
  traceOf,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultText, terminals, toldResults } from "../support/turns.js";

const tools = { f: toolOutcome.ok("real"), g: toolOutcome.ok("other") };
const oneCall = () => [toolCallResponse("f", "c1"), stopResponse("done")];

const endsBefore: readonly StageKind[] = ["chooseTools", "beforeContext", "beforeModel"];

test.each(endsBefore)("stop at %s ends the turn as stopped before the model is asked", async (kind) => {
  await using t = await testAgent({ hooks: [hookAt(kind, (_, context) => context.stop("closed"))] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "stopped", stopReason: "closed", rounds: 0 });
  expect(t.model.callCount).toBe(0);
  expect(terminals(t.observer.events)).toEqual(["turnStopped"]);
  expect((await t.agent.session("s")).messages).toHaveLength(1);
});

test.each(endsBefore)("abort at %s rejects hook-aborted with its reason and keeps the input", async (kind) => {
  await using t = await testAgent({ hooks: [hookAt(kind, (_, context) => context.abort("not today"))] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "hook-aborted", message: expect.stringContaining("not today") as string });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  expect((await t.agent.session("s")).messages).toHaveLength(1);
});

test("next at beforeTurn changes the input", async () => {
  const hook = hookAt("beforeTurn", (_, context) => context.next({ input: [userMessage("changed")] }));
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect((await t.agent.session("s")).messages[0]).toMatchObject({ content: [{ text: "changed" }] });
});

test("next at chooseTools chooses what the model is shown and what its calls are looked up in", async () => {
  const hook = hookAt("chooseTools", ({ tools: defs }, context) =>
    context.next({ tools: defs.filter((def) => def.name === "g") }),
  );
  await using t = await testAgent({ script: oneCall(), tools, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests[0]?.tools.map((def) => def.name)).toEqual(["g"]);
  expect(t.observer.ofType("toolsResolved").map((event) => event.tools.length)).toEqual([1]);
  expect(toldResults(t)["c1"]).toContain("no tool named f");
});

test("next at beforeContext holds for this request only, unless it is to persist", async () => {
  const replace = (persist: boolean) =>
    hookAt("beforeContext", (_, context) =>
      context.round === 1 ? context.next({ messages: [userMessage("short")], persist }) : undefined,
    );
  await using once = await testAgent({ script: oneCall(), tools, hooks: [replace(false)] });
  await once.agent.runTurn("hi", "s");
  expect(once.model.requests.map(({ messages }) => messages[0])).toMatchObject([
    { content: [{ text: "short" }] },
    { content: [{ text: "hi" }] },
  ]);
  await using kept = await testAgent({ script: oneCall(), tools, hooks: [replace(true)] });
  await kept.agent.runTurn("hi", "s");
  expect(kept.model.requests[1]?.messages[0]).toMatchObject({ content: [{ text: "short" }] });
  expect((await kept.agent.session("s")).messages[0]).toMatchObject({ content: [{ text: "hi" }] });
});

test("stop at afterModel keeps the reply, runs none of its calls and gives each a result", async () => {
  const hook = hookAt("afterModel", (_, context) => context.stop("read enough"));
  await using t = await testAgent({ script: [callsOf("f", "g")], tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "stopped", stopReason: "read enough", rounds: 1 });
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["not-started", "not-started"]);
  expect(t.tools.execRecords).toEqual([]);
  await expectLawful(t, "s");
});

test("answer and block skip the tool, and after hooks see what was answered (H3)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["afterTool", "toolError", "admitTool"] });
  const decide = hookAt("beforeTool", ({ call }, context) =>
    call.id === "c1" ? context.answer("from memory") : context.block("not allowed"),
  );
  await using t = await testAgent({ script: [callsOf("f", "g"), stopResponse("ok")], tools, hooks: [spy, decide] });
  const result = await t.agent.runTurn("hi", "s");
  expect(t.tools.execRecords).toEqual([]);
  expect(toldResults(t)).toEqual({ c1: "from memory", c2: "not allowed" });
  expect(result.exchanges.map(({ result: { isError } }) => isError)).toEqual([false, true]);
  expect(spy.kinds).toEqual(["afterTool", "afterTool"]);
  expect(spy.stagesOf("afterTool")).toMatchObject([{ answered: true }, { answered: true }]);
});

test("an error answer and finish give an immediate rejection (H3)", async () => {
  const hook = hookAt(["beforeTool", "beforeContinue"], (stage, context) =>
    stage.kind === "beforeTool"
      ? context.answer({ content: [{ type: "text", text: "rejected" }], isError: true })
      : context.finish(),
  );
  await using t = await testAgent({ script: [callsOf("f")], tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "completed", rounds: 1 });
  expect(result.toolResults.map(resultText)).toEqual(["rejected"]);
});

test("stop at beforeTool: this and later calls get not-started results, earlier ones run", async () => {
  const hook = hookAt("beforeTool", ({ call }, context) => (call.id === "c2" ? context.stop("hold it") : undefined));
  await using t = await testAgent({ script: [callsOf("f", "f", "f")], tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "stopped", stopReason: "hold it" });
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "not-started", "not-started"]);
  expect(t.tools.execRecords.map(({ callId }) => callId)).toEqual(["c1"]);
  await expectLawful(t, "s");
});

test("abort at beforeTool: nothing of the batch runs, and all its calls get not-started results", async () => {
  const hook = hookAt("beforeTool", ({ call }, context) => (call.id === "c2" ? context.abort("no") : undefined));
  await using t = await testAgent({ script: [callsOf("f", "f", "f")], tools, hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.kind).toBe("hook-aborted");
  expect(error.partial?.exchanges.map(({ outcome }) => outcome)).toEqual(["not-started", "not-started", "not-started"]);
  expect(t.tools.execRecords).toEqual([]);
  await expectLawful(t, "s");
});

test("defer: the other calls run, the turn ends as deferred, and the call stays pending", async () => {
  const hook = hookAt("beforeTool", ({ call }, context) => (call.id === "c1" ? context.defer("ask Eve") : undefined));
  await using t = await testAgent({ script: [callsOf("f", "g")], tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "deferred", deferred: [{ callId: "c1", toolName: "f", reason: "ask Eve" }] });
  expect(t.tools.execRecords.map(({ callId }) => callId)).toEqual(["c2"]);
  expect(traceOf(t.observer).at(-1)).toContain("turnCompleted");
  expect((await t.agent.session("s")).messages.filter((message) => message.role === "tool")).toHaveLength(1);
  await expectLawful(t, "s");
});

test("patch at afterTool replaces whole fields and leaves the outcome alone", async () => {
  const hook = hookAt("afterTool", (_, context) =>
    context.patch({ content: [{ type: "text", text: "redacted" }], isError: true }),
  );
  await using t = await testAgent({ script: oneCall(), tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toBe("redacted");
  expect(result.exchanges).toMatchObject([{ outcome: "completed", result: { isError: true } }]);
  expect(t.observer.ofType("toolCallResult")).toMatchObject([{ isError: true }]);
  expect(JSON.stringify(await t.agent.session("s"))).not.toContain("real");
});

test("stop at afterTool is remembered while the remaining after hooks still run", async () => {
  const outer = new RecordingHook({ name: "outer", stages: ["afterTool"] });
  const inner = hookAt("afterTool", (_, context) => context.stop("seen"), "inner");
  await using t = await testAgent({ script: oneCall(), tools, hooks: [outer, inner] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "stopped", stopReason: "seen" });
  expect(outer.kinds).toEqual(["afterTool"]);
});

const roundEnds: readonly (readonly [string, (context: StageContext) => unknown, object, string])[] = [
  ["finish", (c) => c.finish(), { status: "completed" }, "turnCompleted"],
  ["checkpoint", (c) => c.checkpoint(), { status: "stopped", stopReason: "checkpoint" }, "turnStopped"],
  ["stop", (c) => c.stop("told"), { status: "stopped", stopReason: "told" }, "turnStopped"],
  ["cancel", (c) => c.cancel("told"), { status: "aborted", stopReason: "told" }, "turnAborted"],
];

test.each(roundEnds)("%s at beforeContinue ends the turn after the round", async (_, ask, end, type) => {
  const hook = hookAt("beforeContinue", (stage, context) => (stage.natural ? undefined : ask(context)));
  await using t = await testAgent({ script: [callsOf("f")], tools, hooks: [hook] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ ...end, rounds: 1 });
  expect(terminals(t.observer.events)).toEqual([type]);
  await expectLawful(t, "s");
});

test("wait at beforeEnd stops the turn as waiting", async () => {
  const hook = hookAt("beforeEnd", (_, context) => context.wait("for a person"));
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "stopped", stopReason: "waiting", text: "done" });
});

test("goOn at beforeEnd adds its messages, or one of its own, and no request ends with the assistant (T1)", async () => {
  const more = [() => [userMessage("and?")], () => []];
  const hook = hookAt("beforeEnd", (_, context) => {
    const next = more.shift();
    return next === undefined ? undefined : context.goOn(next());
  });
  await using t = await testAgent({ script: ["one", "two", "three"].map(stopResponse), hooks: [hook] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "completed", text: "three", rounds: 3 });
  expect(t.model.requests.map(({ messages }) => messages.at(-1)?.role)).toEqual(["user", "user", "user"]);
  expect(t.model.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ text: "and?" }] });
});
