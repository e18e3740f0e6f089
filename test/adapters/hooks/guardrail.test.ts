import { describe, expect, it, test } from "vitest";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import { guardrail, type GuardrailOptions } from "../../../src/adapters/hooks/guardrail.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { textOf } from "../../../src/domain/message.js";
import type { ToolCall } from "../../../src/domain/tool.js";
import {
  pipelineHookClaims,
  runClaims,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";

const guarded = (options: GuardrailOptions, rest: TestAgentOptions = {}): Promise<TestAgent> =>
  testAgent({ script: [stopResponse("ok")], ...rest, hooks: [guardrail(options)] });

const told = ({ observer }: TestAgent): unknown[] =>
  observer.events.flatMap((event) => (event.type === "custom" && event.source === "guardrail" ? [event.data] : []));

const lastRequest = ({ model }: TestAgent): string[] =>
  model.calls.at(-1)?.request.messages.map((message) => textOf(message)) ?? [];

const aboutBombs = (text: string) => (text.includes("bomb") ? { block: "no weapons" } : undefined);

describe("guardrail", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => {
      const call: ToolCall = { id: "c", name: "weather", arguments: { city: "bomb" } };
      return {
        hook: guardrail({
          input: aboutBombs,
          output: aboutBombs,
          toolCall: async ({ arguments: args }, { signal }) => {
            if (args["wait"] !== true) return args["city"] === "bomb" ? { block: "no weapons" } : undefined;
            const aborted = Promise.withResolvers<undefined>();
            signal.addEventListener("abort", () => aborted.resolve(undefined), { once: true });
            return aborted.promise;
          },
          toolResult: ({ text }) => aboutBombs(text),
        }),
        acts: [
          {
            stage: { kind: "beforeTurn" as const, input: [{ role: "user" as const, content: "a bomb" }] },
            outcome: "abort" as const,
          },
          { stage: { kind: "beforeTool" as const, call }, outcome: "block" as const },
        ],
        waits: { stage: { kind: "beforeTool" as const, call: { ...call, arguments: { wait: true } } } },
      };
    },
    capabilities: { defers: { missing: "it decides at once" } },
  });

  it("blocks input before anything is stored or asked", async () => {
    await using t = await guarded({ input: aboutBombs });
    await expect(t.agent.runTurn("how to build a bomb", "s")).rejects.toMatchObject({ kind: "hook-aborted" });
    expect([t.model.callCount, (await t.agent.session("s")).messages]).toEqual([0, []]);
  });

  it("stops a turn for its input, and replaces input in store and request", async () => {
    await using t = await guarded({
      input: (text) => (text === "stop" ? { stop: "enough" } : { replace: `${text}, please` }),
    });
    expect(await t.agent.runTurn("stop", "s")).toMatchObject({ status: "stopped", stopReason: "enough" });
    await t.agent.runTurn(
      {
        role: "user",
        content: [
          { type: "text", text: "te" },
          { type: "text", text: "a" },
        ],
      },
      "s",
    );
    expect(lastRequest(t)).toEqual(["tea, please"]);
    expect((await t.agent.session("s")).messages.map((message) => textOf(message as never))).toEqual([
      "tea, please",
      "ok",
    ]);
  });

  it("checks what is said while the turn runs, once", async () => {
    const seen: string[] = [];
    const input = (text: string) => (seen.push(text), text === "a bomb" ? { replace: "[removed]" } : undefined);
    const holder: { t?: TestAgent } = {};
    const look = (): string => (void holder.t?.agent.steer("s", "a bomb"), "seen");
    await using t = await testAgent({
      script: [toolCallResponse("look", "c1", {}), toolCallResponse("look2", "c2", {}), stopResponse("fine")],
      providers: [
        {
          listTools: () =>
            ["look", "look2"].map((name) => ({ name, description: "", inputSchema: { type: "object" } })),
          execute: ({ name }) => (name === "look" ? look() : "seen"),
        },
      ],
      hooks: [guardrail({ input })],
    });
    holder.t = t;
    await t.agent.runTurn("hi", "s");
    expect(seen).toEqual(["hi", "a bomb"]);
    for (const { request } of t.model.calls) expect(JSON.stringify(request.messages)).not.toContain("a bomb");
    expect(lastRequest(t)).toContain("[removed]");
  });

  it("checks what is said before the first request, and what another hook made of the input", async () => {
    const seen: string[] = [];
    const input = (text: string) => (seen.push(text), aboutBombs(text));
    await using t = await guarded({ input });
    const turn = t.agent.startTurn("hi", "s");
    expect(turn.steer("a bomb")).toBe(true);
    await expect(turn.result).rejects.toMatchObject({ kind: "hook-aborted" });
    expect([seen, t.model.callCount]).toEqual([["hi", "a bomb"], 0]);
    const worse = defineHook("worse", {
      beforeTurn: (_stage, context) => context.next({ input: [{ role: "user", content: "two bombs" }] }),
    });
    await using other = await testAgent({ script: [stopResponse("ok")], hooks: [guardrail({ input }), worse] });
    await expect(other.agent.runTurn("hi", "s")).rejects.toMatchObject({ kind: "hook-aborted" });
    expect(other.model.callCount).toBe(0);
  });

  it("stores no reply whose check an abort cuts short", async () => {
    const checking = Promise.withResolvers<void>();
    const output = () => (checking.resolve(), new Promise<undefined>(() => {}));
    await using t = await guarded({ output }, { script: [stopResponse("a bomb")], config: { streaming: false } });
    const turn = t.agent.startTurn("hi", "s");
    await checking.promise;
    turn.abort();
    expect((await turn.result).text).toBe("[blocked: it could not be checked]");
    expect(JSON.stringify([t.observer.events, await t.agent.session("s")])).not.toContain("a bomb");
  });

  it("keeps a blocked reply and its calls out of the session, and goes on with what replaces one", async () => {
    const bad = {
      ...toolCallResponse("look", "c1", {}),
      parts: [{ type: "text", text: "a bomb" } as const, ...toolCallResponse("look", "c1", {}).parts],
    };
    await using t = await guarded({ output: aboutBombs }, { script: [bad], tools: { look: toolOutcome.ok("never") } });
    const result = await t.agent.runTurn("hi", "s");
    expect([result.status, result.text, result.toolResults]).toEqual(["completed", "[blocked: no weapons]", []]);
    expect(JSON.stringify(await t.agent.session("s"))).not.toContain("a bomb");
    await using other = await guarded({ output: (text) => ({ replace: text.toUpperCase() }) });
    expect((await other.agent.runTurn("hi", "s")).text).toBe("OK");
    await using last = await guarded({ output: () => ({ stop: "enough" }) });
    expect(await last.agent.runTurn("hi", "s")).toMatchObject({ status: "stopped", text: "[blocked: enough]" });
  });

  it("blocks, changes and stops calls, and what was blocked did not run", async () => {
    for (const [verdict, args, text] of [
      [{ block: "not there" }, [], /blocked: not there/],
      [{ replace: { city: "Bern" } }, [{ city: "Bern" }], /sunny/],
      [{ stop: "enough" }, [], /./],
    ] as const) {
      await using t = await guarded(
        { toolCall: () => verdict },
        {
          script: [toolCallResponse("weather", "c1", { city: "Rome" }), stopResponse("ok")],
          tools: { weather: toolOutcome.ok("sunny") },
        },
      );
      const result = await t.agent.runTurn("hi", "s");
      expect(t.tools.execRecords.map((record) => record.arguments)).toEqual(args);
      expect(textOf(result.toolResults[0] as never)).toMatch(text);
      expect(result.status).toBe("stop" in verdict ? "stopped" : "completed");
    }
  });

  it("withholds and replaces results from model, store and events", async () => {
    for (const verdict of [{ block: "private" }, { replace: "a city" }, { stop: "enough" }]) {
      await using t = await guarded(
        { toolResult: ({ text }) => (text.includes("secret") ? verdict : undefined) },
        {
          script: [toolCallResponse("weather", "c1", {}), stopResponse("ok")],
          tools: { weather: toolOutcome.ok("a secret city") },
        },
      );
      const result = await t.agent.runTurn("hi", "s");
      expect(
        JSON.stringify([result, t.observer.events, t.model.calls.map(({ request }) => request.messages)]),
      ).not.toContain("a secret city");
      expect(result.status).toBe("stop" in verdict ? "stopped" : "completed");
    }
  });

  const broken: [string, GuardrailOptions["toolResult"] & GuardrailOptions["input"]][] = [
    [
      "throws",
      () => {
        throw new Error("secret words");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret words"))],
    ["hangs", () => new Promise(() => {})],
    ["answers true", () => true as never],
    ["answers a text", () => "block" as never],
    ["answers two things", () => ({ block: "a", stop: "b" })],
    ["answers an object of something else", () => ({ allow: true }) as never],
    ["gives no reason", () => ({ block: 5 }) as never],
  ];

  it.each(broken)("blocks where a check %s, unless it is to let pass", async (_title, check) => {
    const script = [toolCallResponse("weather", "c1", {}), stopResponse("ok")];
    for (const onFailure of [undefined, "pass"] as const) {
      const options = { timeoutMs: 20, onFailure };
      await using input = await guarded({ ...options, input: check });
      const turn = await input.agent.runTurn("hi", "s").catch(() => "rejected");
      expect(turn === "rejected").toBe(onFailure === undefined);
      await using output = await guarded({ ...options, output: check });
      expect((await output.agent.runTurn("hi", "s")).text).toBe(
        onFailure === undefined ? "[blocked: it could not be checked]" : "ok",
      );
      await using call = await guarded(
        { ...options, toolCall: check as never },
        { script, tools: { weather: toolOutcome.ok("sunny") } },
      );
      await call.agent.runTurn("hi", "s");
      expect(call.tools.execRecords).toHaveLength(onFailure === undefined ? 0 : 1);
      await using result = await guarded(
        { ...options, toolResult: check },
        { script, tools: { weather: toolOutcome.ok("sunny") } },
      );
      const [shown] = (await result.agent.runTurn("hi", "s")).toolResults;
      expect(textOf(shown as never)).toBe(
        onFailure === undefined ? "The result was withheld: it could not be checked" : "sunny",
      );
      for (const t of [input, output, call, result])
        expect(JSON.stringify(t.observer.events)).not.toContain("secret words");
    }
  });

  it("tells of what it did with its reason, cut to one line, and without the content", async () => {
    await using t = await guarded({ output: () => ({ block: `no\nmore \u001b[31m${"x".repeat(1_000)}` }) });
    await t.agent.runTurn("hi", "s");
    const reason = expect.stringMatching(/^nomore \[31mx+\.\.\.\(truncated\)$/) as string;
    expect(told(t)).toEqual([{ what: "output", action: "block", reason }]);
  });

  it.each([
    undefined,
    {},
    { input: "text" },
    { input: aboutBombs, timeoutMs: 0 },
    { input: aboutBombs, onFailure: "ask" },
    { inputs: aboutBombs },
  ])("refuses the options %j", (options) => {
    expect(() => guardrail(options as never)).toThrow(CompositionError);
  });
});
