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
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { thenNothing } from "../support/then-nothing.js";
import { callsOf, expectLawful, hookAt, rejectionOf, terminals } from "../support/turns.js";

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
  const compressor = new RecordingCompressor(thenNothing(steps));
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

test("a tool may have to be left out in the same round too (C3)", async () => {
  await using t = await overflowing([none, shrink], {
    script: [
      overflow,
      modelStep.fail(new ModelError("invalid-request", "bad schema", { toolName: "f" })),
      stopResponse("yes"),
    ],
    tools: { f: toolOutcome.ok(), g: toolOutcome.ok() },
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
  expect(sent(t)).toEqual(SHRUNK);
  expect(t.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["f", "g"], ["f", "g"], ["g"]]);
});
