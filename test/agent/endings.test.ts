import { expect, test } from "vitest";
import type { HookContext } from "../../src/ports/hook.js";
import {
  modelStep,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, rejectionOf, terminals } from "../support/turns.js";

const tools = { f: toolOutcome.ok("real") };

test("a write that fails while the calls of a stopped turn are closed fails the turn (L8, S1)", async () => {
  const hook = hookAt("afterModel", (_, context) => {
    t.sessions.failSave("s", { nth: 2 });
    return context.stop("enough");
  });
  await using t = await testAgent({ script: [callsOf("f")], tools, hooks: [hook] });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("session");
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
});

test("a last write that fails fails the turn: no terminal success is published (S1)", async () => {
  const hook = hookAt("beforeEnd", () => void t.sessions.failSave("s"));
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "session", partial: { text: "done" } });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
});

test("an abort wins over a failed write, also over the last one (L8)", async () => {
  for (const nth of [1, 2]) {
    await using t = await testAgent({ script: [modelStep.hang([{ type: "textDelta", text: "x" }])] });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    t.sessions.failSave("s", { nth });
    turn.abort();
    expect((await turn.result).status).toBe("aborted");
    expect(terminals(t.observer.events)).toEqual(["turnAborted"]);
  }
});

test("an abort wins over a hook's abort in the same batch (L8)", async () => {
  const controller = new AbortController();
  const hook = hookAt("beforeTool", (_, context) => {
    controller.abort("user");
    return context.abort("hook");
  });
  await using t = await testAgent({ script: [callsOf("f", "f")], tools, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s", { signal: controller.signal });
  expect(result).toMatchObject({ status: "aborted", stopReason: "user" });
  await expectLawful(t, "s");
});

test("a hook's abort wins over a deferral in the same batch, and nothing stays pending (L8)", async () => {
  const hook = hookAt("beforeTool", ({ call }, context) =>
    call.id === "c1" ? context.defer("ask") : context.abort("no"),
  );
  await using t = await testAgent({ script: [callsOf("f", "f")], tools, hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "hook-aborted", partial: { deferred: [] } });
  await expectLawful(t, "s");
});

test.each(["parallel", "sequential"] as const)(
  "a deferral wins over a stop in the same %s batch (L8)",
  async (mode) => {
    const hook = hookAt("beforeTool", ({ call }, context) =>
      call.id === "c1" ? context.defer("ask") : context.stop("enough"),
    );
    const config = { toolExecution: mode };
    await using t = await testAgent({ script: [callsOf("f", "f")], tools, hooks: [hook], config });
    const result = await t.agent.runTurn("hi", "s");
    expect(result).toMatchObject({ status: "deferred", deferred: [{ callId: "c1" }] });
    await expectLawful(t, "s");
  },
);

test("an abort while a sibling runs leaves the deferred call pending (L8)", async () => {
  const provider = new RecordingToolProvider().add("f", toolOutcome.hangs());
  const hook = hookAt("beforeTool", ({ call }, context) => (call.id === "c1" ? context.defer("ask") : undefined));
  await using t = await testAgent({ script: [callsOf("f", "f")], tools: provider, hooks: [hook] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort();
  expect(await turn.result).toMatchObject({ status: "aborted", deferred: [{ callId: "c1" }] });
  await expectLawful(t, "s");
});

test("a stop or abort by chooseTools in mid-turn keeps the model from being asked again (U8)", async () => {
  for (const kind of ["stop", "abort"] as const) {
    const provider = new RecordingToolProvider().add("f", toolOutcome.ok());
    const change = hookAt("settleTool", () => void provider.add("g", toolOutcome.ok()));
    const hook = hookAt("chooseTools", ({ reason }, context) =>
      reason === "tools-changed" ? context[kind]("not with these") : undefined,
    );
    await using t = await testAgent({ script: [toolCallResponse("f", "c1")], tools: provider, hooks: [change, hook] });
    const turn = t.agent.runTurn("hi", "s");
    if (kind === "stop") expect(await turn).toMatchObject({ status: "stopped", stopReason: "not with these" });
    else expect((await rejectionOf(turn)).kind).toBe("hook-aborted");
    expect(t.model.callCount).toBe(1);
  }
});

test("nothing is published behind the terminal event, whoever kept a context of the turn (T3)", async () => {
  let kept: HookContext | undefined;
  const hook = hookAt("beforeModel", (_, context) => void (kept = context));
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  const before = t.observer.events.length;
  kept?.emit("late", {});
  expect(t.observer.events).toHaveLength(before);
});

test("an observer that throws on the terminal event changes nothing, a listener that waits holds the result (T4, T7)", async () => {
  const gate = Promise.withResolvers<void>();
  await using t = await testAgent({ script: [stopResponse("done"), stopResponse("two")] });
  t.observer.throwOn("turnCompleted");
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => (event.type === "turnCompleted" ? gate.promise : undefined));
  const order: string[] = [];
  void turn.result.then(() => order.push("one"));
  const second = t.agent.runTurn("more", "s").then(() => order.push("two"));
  await t.runtime.advance(0);
  expect([order, t.model.callCount]).toEqual([[], 1]);
  gate.reject(new Error("listener"));
  await second;
  expect(order).toEqual(["one", "two"]);
  expect(t.secondaryFailures.map(({ operation }) => operation)).toEqual(["observer", "listener", "observer"]);
});
