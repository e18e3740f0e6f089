import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { userMessage } from "../../src/domain/message.js";
import type { TurnEvent } from "../../src/domain/event.js";
import {
  type CompressStep,
  modelStep,
  RecordingCompressor,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  textStream,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { callsOf, expectLawful, hookAt, rejectionOf, terminals, toldResults } from "../support/turns.js";

const long = (word: string): string => `${word} ${"x".repeat(2_000)}`;
const history = [user("u0", long("u0")), reply("a0", long("a0")), user("u1"), reply("a1")];
const tooLong = new ModelError("context-overflow", "too long");
const overflow = modelStep.fail(tooLong);
const summary = userMessage("summary");
const replace: CompressStep = () => ({ type: "replace", messages: [summary], upTo: "a0" });
const shrink: CompressStep = (messages) => ({ type: "view", messages: [summary, ...messages.slice(2)] });
const none: CompressStep = { type: "none" };
const SHRUNK = ["user summary", "user u1", "assistant a1", "user hi"];

/** An agent whose session "s" holds the history, and a compressor that makes these proposals, one a request. */
async function overflowing(steps: readonly CompressStep[], options: TestAgentOptions) {
  const compressor = new RecordingCompressor(steps);
  const t = await testAgent({ compressors: [compressor], ...options });
  t.sessions.seed("s", { messages: history });
  return Object.assign(t, { compressor });
}

const secondary = (t: TestAgent): unknown[] =>
  t.observer
    .ofType("custom")
    .filter(({ label }) => label === "secondary_failure")
    .map(({ data }) => data);

const reasons = (t: { readonly compressor: RecordingCompressor }): string[] =>
  t.compressor.records.map(({ reason }) => reason);

describe("a context that overflows is compressed once, and asked with once more (C3)", () => {
  test("with a view for that request", async () => {
    await using t = await overflowing([none, shrink], { script: [overflow, stopResponse("yes")] });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(reasons(t)).toEqual(["before-model", "overflow"]);
    expect([sent(t, 0), sent(t, 1)]).toEqual([[...linesOf(history), "user hi"], SHRUNK]);
    expect((await t.agent.session("s")).compaction).toBeUndefined();
    expect(secondary(t)).toEqual([]);
  });

  test("with a replacement that is stored as a record: the originals stay, and the next turn begins with it", async () => {
    await using t = await overflowing([none, replace], { script: [overflow, stopResponse("yes"), stopResponse("on")] });
    await t.agent.runTurn("hi", "s");
    expect(sent(t)).toEqual(SHRUNK);
    expect(t.observer.ofType("contextReplaced")).toMatchObject([{ before: 5, after: 4 }]);
    expect(await stored(t)).toEqual([...linesOf(history), "user hi", "assistant yes"]);
    expect((await t.agent.session("s")).compaction).toMatchObject({ upTo: "a0" });
    await t.agent.runTurn("more", "s");
    expect(sent(t)).toEqual([...SHRUNK, "assistant yes", "user more"]);
    await using restarted = await testAgent({ script: [stopResponse("ok")], sessions: [t.sessions] });
    await restarted.agent.runTurn("again", "s", { turnId: "another" });
    expect(sent(restarted).slice(0, 4)).toEqual(SHRUNK);
  });

  test("with a new thread: the turn goes on in the child, its own messages are there", async () => {
    const thread: CompressStep = (messages) => ({
      type: "newThread",
      newSessionId: "child",
      messages: [summary, ...messages.slice(4)],
      messagesBefore: 5,
      messagesAfter: 2,
    });
    await using t = await overflowing([none, thread], { script: [overflow, stopResponse("yes")] });
    const { finalSessionId, text } = await t.agent.runTurn("hi", "s");
    expect([finalSessionId, text]).toEqual(["child", "yes"]);
    expect(t.observer.ofType("sessionRedirect")).toMatchObject([{ from: "s", to: "child" }]);
    const child = await stored(t, "child");
    expect(child).toEqual([...sent(t), "assistant yes"]);
    expect([child[0], child.at(-2)]).toEqual(["user summary", "user hi"]);
    expect(terminals(t.observer.events)).toEqual(["turnCompleted"]);
    await expectLawful(t, "child");
  });

  test("where a provider overflows whatever it is sent, that is all: two calls, one compression, its own error (F162)", async () => {
    const endless = Array.from({ length: 50 }, () => overflow);
    await using t = await overflowing([none, shrink, shrink, shrink], { script: endless });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: tooLong });
    expect([t.model.callCount, reasons(t)]).toEqual([2, ["before-model", "overflow"]]);
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
    t.agent.setModel({ chat: async () => stopResponse("back") });
    expect((await t.agent.runTurn("again", "s")).text).toBe("back");
  });

  test.each([
    // What the turn mends by itself comes on top, once.
    [false, 5],
    // Views of views soon are no smaller, and then nobody is asked any more.
    [true, 4],
  ])(
    "and hooks that ask for more (compressing: %s) are bounded by maxModelAttempts (F162)",
    async (compress, calls) => {
      const endless = Array.from({ length: 50 }, () => overflow);
      const hook = hookAt("modelError", (_, context) => context.retry({ compress }));
      const steps = Array.from({ length: 50 }, () => shrink);
      const config = { maxModelAttempts: 4 };
      await using t = await overflowing([none, ...steps], { script: endless, hooks: [hook], config });
      expect((await rejectionOf(t.agent.runTurn("hi", "s"))).cause).toBe(tooLong);
      expect(t.model.callCount).toBe(calls);
      expect(reasons(t).length).toBeLessThanOrEqual(calls);
    },
  );

  test("a later round has its own", async () => {
    await using t = await overflowing([none, shrink, none, shrink], {
      script: [overflow, callsOf("f"), overflow, stopResponse("yes")],
      tools: { f: toolOutcome.ok("done") },
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(reasons(t)).toEqual(["before-model", "overflow", "before-model", "overflow"]);
    expect(sent(t)).toEqual([...SHRUNK, "calls c1", "c1 = done"]);
  });
});

describe("without a smaller conversation the model's own error stands (C3)", () => {
  test.each<[string, readonly CompressStep[] | undefined, unknown[]]>([
    ["no compressor", undefined, []],
    ["a compressor that does nothing", [none, none], []],
    [
      "one that does not shrink",
      [none, (messages) => ({ type: "view", messages: [...messages] })],
      [{ stage: "compress", operation: "recording", errorCategory: "refused" }],
    ],
    [
      "one that throws",
      [
        none,
        () => {
          throw new RangeError("secret");
        },
      ],
      [{ stage: "compress", operation: "overflow", errorCategory: "RangeError" }],
    ],
    [
      "one that answers what is no action",
      [none, { type: "smaller" } as never],
      [{ stage: "compress", operation: "recording", errorCategory: "TypeError" }],
    ],
  ])("with %s", async (_, steps, failures) => {
    const script = [overflow, stopResponse("never")];
    await using t =
      steps === undefined ? await overflowing([], { script, compressors: [] }) : await overflowing(steps, { script });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: tooLong });
    expect(t.model.callCount).toBe(1);
    expect(secondary(t)).toEqual(failures);
    expect(JSON.stringify(t.observer.events)).not.toContain("secret");
    await expectLawful(t, "s");
  });

  test("the next compressor is asked where one did not shrink", async () => {
    const idle = new RecordingCompressor([none, none], "idle");
    const other = new RecordingCompressor([none, shrink], "other");
    await using t = await overflowing([], { script: [overflow, stopResponse("yes")], compressors: [idle, other] });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(sent(t)).toEqual(SHRUNK);
  });

  test("a write of the record that fails is the session's error, and nothing is asked again", async () => {
    await using t = await overflowing([none, replace], { script: [overflow, stopResponse("never")] });
    t.sessions.failSave("s", { nth: 2 });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error.kind).toBe("session");
    expect(t.model.callCount).toBe(1);
  });
});

/** What consumers are told of a reply, one word an event. */
const told = (events: readonly TurnEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === "messageStarted") return ["started"];
    if (event.type === "modelResponse") return ["whole"];
    if (event.type !== "streamChunk") return [];
    const { chunk } = event;
    return [chunk.type === "textDelta" ? chunk.text : chunk.type === "reset" ? `reset ${chunk.reason}` : chunk.type];
  });

describe("a retry after output began (C3)", () => {
  test("emits reset first", async () => {
    const script = [
      modelStep.fail(tooLong, textStream("half").slice(0, -1)),
      modelStep.stream(textStream("whole answer")),
    ];
    await using t = await overflowing([none, shrink], { script });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("whole answer");
    expect(told(t.observer.events)).toEqual(["started", "half", "reset retry", "whole answer", "finish", "whole"]);
    expect((await stored(t)).at(-1)).toBe("assistant whole answer");
  });

  test("emits none where nothing had come", async () => {
    const script = [overflow, modelStep.stream(textStream("whole answer"))];
    await using t = await overflowing([none, shrink], { script });
    await t.agent.runTurn("hi", "s");
    expect(told(t.observer.events)).toEqual(["started", "whole answer", "finish", "whole"]);
  });

  test("that is not made leaves what came standing, as a broken reply", async () => {
    const script = [modelStep.fail(tooLong, textStream("half").slice(0, -1))];
    await using t = await overflowing([none, none], { script });
    await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(told(t.observer.events)).toEqual(["started", "half"]);
    expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ stopped: "error", parts: [{ text: "half" }] });
  });
});

test("a hook's retry that compresses goes before the turn's own, which is still there afterwards (C3)", async () => {
  let asked = 0;
  const hook = hookAt("modelError", (_, context) => (asked++ === 0 ? context.retry({ compress: true }) : undefined));
  await using t = await overflowing([none, replace, shrink], {
    script: [overflow, overflow, stopResponse("yes")],
    hooks: [hook],
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
  expect(reasons(t)).toEqual(["before-model", "overflow", "overflow"]);
  expect(t.model.callCount).toBe(3);
});

const badTool = (toolName: string | undefined) => new ModelError("invalid-request", "bad schema", { toolName });
const toolsOf = (t: TestAgent): string[][] => t.model.requests.map(({ tools }) => tools.map(({ name }) => name));
const two = { f: toolOutcome.ok("F"), g: toolOutcome.ok("G") };

describe("a tool that the provider refuses (C3)", () => {
  test("is left out for the rest of the turn, and the model is asked once more", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), stopResponse("yes"), stopResponse("on")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"], ["g"]]);
    expect(secondary(t)).toEqual([
      { stage: "model", operation: "leave out tool f", errorCategory: "ModelError(invalid-request)" },
    ]);
    await t.agent.runTurn("more", "s");
    expect(toolsOf(t).at(-1)).toEqual(["f", "g"]);
  });

  test("stays left out when the tools are listed again in the turn", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), stopResponse("yes")],
      tools: two,
      hooks: [hookAt("afterTool", () => void t.tools.add("h", toolOutcome.ok()))],
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t).at(-1)).toEqual(["g", "h"]);
  });

  test("is unknown to a model that calls it all the same", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("f", "g"), stopResponse("yes")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["g"]);
    expect(toldResults(t)["c1"]).toMatch(/unknown tool|no tool/i);
    expect(toldResults(t)["c2"]).toBe("G");
  });

  test("and another one in the same round: the provider's error stands", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), modelStep.fail(badTool("g")), stopResponse("never")],
      tools: two,
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "invalid-request", toolName: "g" } });
    expect(t.model.callCount).toBe(2);
  });

  test("in a later round is left out too", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), modelStep.fail(badTool("g")), stopResponse("yes")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"], ["g"], []]);
  });

  test("that is named once more is not left out twice", async () => {
    const again = hookAt("beforeModel", ({ tools }, context) =>
      context.next({ tools: [...tools.filter(({ name }) => name !== "f"), toolDef("f")] }),
    );
    await using t = await testAgent({
      script: Array.from({ length: 9 }, () => modelStep.fail(badTool("f"))),
      tools: two,
      hooks: [again],
    });
    expect((await rejectionOf(t.agent.runTurn("hi", "s"))).cause).toMatchObject({ toolName: "f" });
    expect(t.model.callCount).toBe(2);
  });

  test.each<[string, TestAgentOptions, string | undefined]>([
    ["the model was to call just that one", { config: { toolChoice: { tool: "f" } } }, "f"],
    [
      "it is the only one, and the model was to call one",
      { config: { toolChoice: "required" }, tools: { f: two.f } },
      "f",
    ],
    [
      "a hook made the model call just that one",
      {
        hooks: [
          hookAt("beforeModel", ({ options }, context) =>
            context.next({ options: { ...options, toolChoice: { tool: "f" } } }),
          ),
        ],
      },
      "f",
    ],
    ["the model was not shown it", {}, "h"],
    ["the provider names none", {}, undefined],
  ])("is not left out where %s", async (_, options, toolName) => {
    const script = [modelStep.fail(badTool(toolName)), stopResponse("never")];
    await using t = await testAgent({ tools: two, ...options, script });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "invalid-request" } });
    expect(t.model.callCount).toBe(1);
    expect(secondary(t)).toEqual([]);
    await expectLawful(t, "s");
  });

  test.each<[string, TestAgentOptions]>([
    ["another one is asked for", { config: { toolChoice: { tool: "g" } } }],
    ["one of several is asked for", { config: { toolChoice: "required" } }],
    [
      "a hook frees the model of the choice",
      {
        config: { toolChoice: { tool: "f" } },
        hooks: [
          hookAt("beforeModel", ({ options }, context) =>
            context.next({ options: { ...options, toolChoice: "auto" } }),
          ),
        ],
      },
    ],
  ])("is left out where %s", async (_, options) => {
    const script = [modelStep.fail(badTool("f")), stopResponse("yes")];
    await using t = await testAgent({ tools: two, ...options, script });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"]]);
  });

  test("is told by a label, whatever its name", async () => {
    const name = `f\u001b[31m${"n".repeat(500)}`;
    await using t = await testAgent({
      script: [modelStep.fail(badTool(name)), stopResponse("yes")],
      tools: { [name]: toolOutcome.ok() },
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    const [failure] = secondary(t) as readonly { readonly operation: string }[];
    expect(failure?.operation).not.toMatch(/\p{Cc}/u);
    expect(failure?.operation.length).toBeLessThan(120);
  });

  test("both mends may be needed in one round", async () => {
    await using t = await overflowing([none, shrink], {
      script: [overflow, modelStep.fail(badTool("f")), stopResponse("yes")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(sent(t)).toEqual(SHRUNK);
    expect(toolsOf(t)).toEqual([["f", "g"], ["f", "g"], ["g"]]);
  });
});
