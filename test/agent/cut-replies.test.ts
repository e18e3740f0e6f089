import { describe, expect, it } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { isMessage, textOf } from "../../src/domain/message.js";
import type { PipelineHook } from "../../src/ports/hook.js";
import {
  modelStep,
  RecordingHook,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  textStream,
} from "../../src/testkit/index.js";
import { expectLawful, hookAt, never, rejectionOf, terminals } from "../support/turns.js";

const spoken = textStream("the secret").slice(0, -1);

type Cut = {
  readonly by: "aborted" | "interrupted" | "error";
  readonly options: TestAgentOptions;
  /** Ends the turn, and gives what its caller is told. */
  readonly end: (t: TestAgent) => Promise<unknown>;
};

const failing = modelStep.fail(new ModelError("transport", "lost"), spoken);

async function cutBy(t: TestAgent, lever: "abort" | "interrupt"): Promise<unknown> {
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn[lever]();
  await t.runtime.advance(1_000);
  return turn.result;
}

const cuts: readonly Cut[] = [
  { by: "aborted", options: { script: [modelStep.hang(spoken)] }, end: (t) => cutBy(t, "abort") },
  { by: "interrupted", options: { script: [modelStep.hang(spoken)] }, end: (t) => cutBy(t, "interrupt") },
  {
    by: "error",
    options: { script: [failing] },
    end: async (t) => (await rejectionOf(t.agent.runTurn("hi", "s"))).partial,
  },
];

/** All that anybody reads when the reply is over, and a turn after it; what was streamed is not taken back from who read it. */
async function read(t: TestAgent, told: unknown): Promise<string> {
  t.model.push(stopResponse("back"));
  const next = await t.agent.runTurn("again", "s");
  const events = t.observer.events.filter(({ type }) => type !== "streamChunk");
  return JSON.stringify([told, next, events, await t.agent.session("s"), t.model.requests.at(-1)?.messages]);
}

const lastSaid = async (t: TestAgent): Promise<string[]> =>
  (await t.agent.session("s")).messages.filter(isMessage).flatMap((m) => (m.role === "assistant" ? [textOf(m)] : []));

const rewriting = (text: string): PipelineHook =>
  hookAt("afterModel", ({ response }, context) =>
    context.next({ response: { ...response, parts: [{ type: "text", text }] } }),
  );

describe.each(cuts)("a reply cut short: $by", ({ by, options, end }) => {
  it("is seen by afterModel hooks, marked, with what was said and without calls (L5)", async () => {
    const hook = new RecordingHook({ name: "a", stages: ["afterModel"] });
    await using t = await testAgent({ ...options, hooks: [hook] });
    await end(t);
    expect(hook.stagesOf("afterModel")).toEqual([
      {
        kind: "afterModel",
        stopped: by,
        response: { parts: [{ type: "text", text: "the secret" }], finishReason: by === "error" ? "other" : "aborted" },
      },
    ]);
    expect(await lastSaid(t)).toEqual(["the secret"]);
  });

  it("is stored, told and sent as the hooks leave it, and what was streamed is taken back (C3)", async () => {
    await using t = await testAgent({ ...options, hooks: [rewriting("the rest")] });
    const told = await end(t);
    expect(t.observer.ofType("streamChunk").at(-1)?.chunk).toEqual({ type: "reset", reason: "rewritten" });
    const added = t.observer.ofType("messageAdded").at(-1)?.message;
    expect(added).toMatchObject({ role: "assistant", stopped: by, parts: [{ text: "the rest" }] });
    expect(await read(t, told)).not.toContain("secret");
    expect(await lastSaid(t)).toEqual(["the rest", "the rest"]);
    await expectLawful(t, "s");
  });

  it("is not stored where the hooks leave nothing of it, and runs no call that a hook adds", async () => {
    for (const parts of [[], [{ type: "toolCall", id: "c1", name: "f", arguments: {} }]]) {
      const hook = hookAt("afterModel", (stage, context) =>
        stage.stopped === undefined ? undefined : context.next({ response: { parts, finishReason: "stop" } as never }),
      );
      await using t = await testAgent({ ...options, hooks: [hook] });
      await end(t);
      expect(await lastSaid(t)).toEqual([]);
      expect(t.observer.ofType("toolCallPending")).toEqual([]);
      expect(await read(t, undefined)).not.toContain("secret");
    }
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no"))],
    ["hangs", never],
    ["asks for what is not allowed", () => ({ kind: "retry", compress: false })],
  ])("is kept where a hook %s, and withheld where that hook wants it so (T5, L5)", async (_, onStage) => {
    for (const withhold of [false, true]) {
      const hook = {
        ...hookAt("afterModel", (stage) => (stage.stopped === undefined ? undefined : onStage()), "h"),
        ...(withhold && { onFailure: { afterModel: "withhold" as const } }),
      };
      await using t = await testAgent({ ...options, hooks: [hook], config: { hookTimeoutMs: 900 } });
      const ending = end(t);
      await t.runtime.advance(1_000);
      const told = await ending;
      const expected = withhold ? "[withheld: hook h failed at afterModel]" : "the secret";
      expect(await lastSaid(t)).toEqual([expected]);
      expect(t.observer.ofType("custom")).toMatchObject([
        { label: "secondary_failure", data: { stage: "afterModel" } },
      ]);
      if (withhold) expect(await read(t, told)).not.toContain("secret");
      else await read(t, told);
      expect(terminals(t.observer.events)).toHaveLength(2);
      await expectLawful(t, "s");
    }
  });

  it("ends the turn as it would without a hook's stop, unless nothing else ended it (L8)", async () => {
    const hook = hookAt("afterModel", (_, context) => context.stop("enough"));
    await using t = await testAgent({ ...options, hooks: [hook] });
    const expected = {
      aborted: { status: "aborted" },
      interrupted: { status: "stopped", stopReason: "enough" },
      error: { status: "stopped", stopReason: "model" },
    };
    expect(await end(t)).toMatchObject(expected[by]);
  });
});

it("an abort settles within a second, however many hooks hang on what was said (L5)", async () => {
  const hooks = ["a", "b", "c"].map((name) => hookAt("afterModel", never, name));
  await using t = await testAgent({ script: [modelStep.hang(spoken)], hooks });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort();
  await t.runtime.advance(1_000);
  expect(await turn.result).toMatchObject({ status: "aborted", text: "the secret" });
});

it("nobody is asked about a reply of which nothing was said", async () => {
  const hook = new RecordingHook({ name: "a", stages: ["afterModel"] });
  await using t = await testAgent({ script: [modelStep.hang()], hooks: [hook] });
  await cutBy(t, "abort");
  expect(hook.kinds).toEqual([]);
});

it("a whole reply is withheld with its calls where a hook fails that wants it so", async () => {
  const hook = {
    ...hookAt("afterModel", () => Promise.reject(new Error("no")), "h"),
    onFailure: { afterModel: "withhold" },
  };
  const call = { type: "toolCall", id: "c1", name: "f", arguments: {} } as const;
  const reply = { parts: [{ type: "text", text: "the secret" }, call] as const, finishReason: "tool-calls" as const };
  await using t = await testAgent({ script: [reply], hooks: [hook as PipelineHook] });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "completed", text: "[withheld: hook h failed at afterModel]", exchanges: [] });
  expect(JSON.stringify(await t.agent.session("s"))).not.toContain("secret");
});

it("a reply refused for a malformed call is judged once, as a whole", async () => {
  const hook = new RecordingHook({ name: "a", stages: ["afterModel"] });
  const half = [...spoken, { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a' }] as const;
  const script = [modelStep.stream([...half, { type: "finish", reason: "tool-calls" }])];
  await using t = await testAgent({ script, hooks: [hook], config: { malformedCalls: "fail" } });
  await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(hook.stagesOf("afterModel").map(({ stopped }) => stopped)).toEqual([undefined]);
  expect(await lastSaid(t)).toEqual(["the secret"]);
});
