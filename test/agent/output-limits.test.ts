import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OutputMeter, type OutputLimit } from "../../src/agent/output-meter.js";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { utf8Bytes } from "../../src/domain/estimate.js";
import { type AgentMessage, userMessage } from "../../src/domain/message.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  type TestAgent,
  textStream,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { calling, linesOf, reply, result, stored, user } from "../support/conversations.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultText, terminals } from "../support/turns.js";

const bytesOf = (messages: readonly AgentMessage[]): number =>
  messages.reduce((sum, message) => sum + utf8Bytes(JSON.stringify(message)), 0);

/** The turn failed at this limit with these messages, which are what is stored; the next turn without limits works. */
async function expectLimited(t: TestAgent, error: AgentError, limit: OutputLimit, lines: readonly string[]) {
  expect(error).toMatchObject({ kind: "output-limit", limit });
  expect(linesOf(error.partial?.messages)).toEqual(lines);
  expect(await stored(t)).toEqual(lines);
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  await expectLawful(t, "s");
  t.model.push(stopResponse("back"));
  const free = { maxOutputMessages: Number.POSITIVE_INFINITY, maxOutputBytes: Number.POSITIVE_INFINITY };
  expect((await t.agent.runTurn("again", "s", { config: free })).text).toBe("back");
  await expectLawful(t, "s");
}

describe("a reply beyond the output limits is refused (L2)", () => {
  test("by count, with room for the results of its calls: it is not stored or told, and its calls do not run", async () => {
    await using t = await testAgent({
      script: [callsOf("f", "f")],
      tools: { f: toolOutcome.ok() },
      config: { maxOutputMessages: 3 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(t.tools.execRecords).toEqual([]);
    expect(t.observer.ofType("modelResponse")).toEqual([]);
    expect(error.partial?.usage).toBeDefined();
    await expectLimited(t, error, "messages", ["user hi"]);
  });

  test("with just enough room it is taken", async () => {
    await using t = await testAgent({
      script: [callsOf("f", "f"), stopResponse("yes")],
      tools: { f: toolOutcome.ok("done") },
      config: { maxOutputMessages: 5 },
    });
    expect((await t.agent.runTurn("hi", "s")).messages).toHaveLength(5);
  });

  test("by bytes", async () => {
    await using t = await testAgent({ script: [stopResponse("x".repeat(2_000))], config: { maxOutputBytes: 1_000 } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    await expectLimited(t, error, "bytes", ["user hi"]);
  });

  test("by bytes in UTF-8, of the messages as JSON", async () => {
    await using measured = await testAgent({ script: [stopResponse("déjà vu 🙂")] });
    const bytes = bytesOf((await measured.agent.runTurn("hi", "s", { turnId: "turn" })).messages);
    for (const spare of [0, -1]) {
      await using t = await testAgent({
        script: [stopResponse("déjà vu 🙂")],
        config: { maxOutputBytes: bytes + spare },
      });
      const turn = t.agent.runTurn("hi", "s", { turnId: "turn" });
      if (spare === 0) expect(bytesOf((await turn).messages)).toBe(bytes);
      else expect((await rejectionOf(turn)).limit).toBe("bytes");
    }
  });

  test("what hooks make of it is what counts", async () => {
    const longer = hookAt("afterModel", ({ response }, context) =>
      context.next({ response: { ...response, parts: [{ type: "text", text: "y".repeat(2_000) }] } }),
    );
    await using t = await testAgent({
      script: [stopResponse("short")],
      hooks: [longer],
      config: { maxOutputBytes: 1_000 },
    });
    expect((await rejectionOf(t.agent.runTurn("hi", "s"))).limit).toBe("bytes");
    expect(await stored(t)).toEqual(["user hi"]);
  });

  test("in a later round what was done before stays", async () => {
    await using t = await testAgent({
      script: [callsOf("f"), callsOf("f", "f")],
      tools: { f: toolOutcome.ok("done") },
      config: { maxOutputMessages: 5 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(t.tools.execRecords).toHaveLength(1);
    await expectLimited(t, error, "messages", ["user hi", "calls c1", "c1 = done"]);
  });

  test("where there is no room for any, the model is not asked", async () => {
    await using t = await testAgent({
      script: [callsOf("f")],
      tools: { f: toolOutcome.ok("done") },
      config: { maxOutputMessages: 3 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(t.model.callCount).toBe(1);
    await expectLimited(t, error, "messages", ["user hi", "calls c1", "c1 = done"]);
  });

  test("error hooks hear of it, and none of them sees it in the conversation", async () => {
    const seen: unknown[] = [];
    const hook = hookAt("turnError", ({ error }, context) => {
      const { kind, limit } = error as AgentError;
      seen.push(kind, limit, linesOf(context.newMessages));
    });
    await using t = await testAgent({
      script: [stopResponse("x".repeat(2_000))],
      hooks: [hook],
      config: { maxOutputBytes: 1_000 },
    });
    await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(seen).toEqual(["output-limit", "bytes", ["user hi"]]);
  });
});

describe("a result beyond the output limits is refused (L2)", () => {
  test("a short one stands in its place, its call is answered, siblings keep theirs, and the turn ends", async () => {
    await using t = await testAgent({
      script: [callsOf("big", "small")],
      tools: { big: toolOutcome.ok("x".repeat(5_000)), small: toolOutcome.ok("fine") },
      config: { maxOutputBytes: 3_000 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    const withheld = "c1 = !The result is withheld: the output limit is reached.";
    expect(error.partial?.exchanges.map(({ callId, outcome }) => `${callId} ${outcome}`)).toEqual([
      "c1 completed",
      "c2 completed",
    ]);
    expect(JSON.stringify(error.partial)).not.toContain("xxxxx");
    expect(JSON.stringify(t.observer.events)).not.toContain("xxxxx");
    await expectLimited(t, error, "bytes", ["user hi", "calls c1,c2", withheld, "c2 = fine"]);
  });

  test("calls of later waves do not start", async () => {
    await using t = await testAgent({
      script: [callsOf("big", "late")],
      tools: { big: toolOutcome.ok("x".repeat(5_000)), late: toolOutcome.ok("fine") },
      config: { maxOutputBytes: 3_000, toolExecution: "sequential" },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["big"]);
    expect(error.partial?.exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "not-started"]);
    expect(resultText(error.partial?.toolResults[1])).toContain("not executed");
    expect(error.limit).toBe("bytes");
    await expectLawful(t, "s");
  });
});

describe("what comes from outside counts (L2)", () => {
  test("input that is beyond a limit by itself is refused: nothing is stored or sent, and it is told as undelivered", async () => {
    await using t = await testAgent({ config: { maxOutputMessages: 2 } });
    const input = ["one", "two", "three"].map((text) => userMessage(text));
    const error = await rejectionOf(t.agent.runTurn(input, "s"));
    expect(linesOf(error.partial?.undelivered)).toEqual(["user one", "user two", "user three"]);
    expect(t.model.callCount).toBe(0);
    await expectLimited(t, error, "messages", []);
    await using small = await testAgent({ config: { maxOutputBytes: 100 } });
    const large = await rejectionOf(small.agent.runTurn("x".repeat(200), "s"));
    await expectLimited(small, large, "bytes", []);
  });

  test("steering takes room of the reply; beyond it the message stays undelivered and the turn ends", async () => {
    const script = [callsOf("f")];
    await using t = await testAgent({ script, tools: { f: toolOutcome.held() }, config: { maxOutputMessages: 4 } });
    const turn = t.agent.startTurn("hi", "s");
    await t.tools.started("c1");
    expect([turn.steer("one"), turn.steer("two")]).toEqual([true, true]);
    t.tools.settle("c1", toolOutcome.ok("done"));
    const error = await rejectionOf(turn.result);
    expect(linesOf(error.partial?.undelivered)).toEqual(["user two"]);
    expect(t.model.callCount).toBe(1);
    await expectLimited(t, error, "messages", ["user hi", "calls c1", "c1 = done", "user one"]);
  });

  test("a message too large to be added is not lost", async () => {
    await using t = await testAgent({
      script: [callsOf("f")],
      tools: { f: toolOutcome.held() },
      config: { maxOutputBytes: 1_000 },
    });
    const turn = t.agent.startTurn("hi", "s");
    await t.tools.started("c1");
    turn.steer("x".repeat(1_000));
    t.tools.settle("c1", toolOutcome.ok("done"));
    const error = await rejectionOf(turn.result);
    expect(error.partial?.undelivered).toHaveLength(1);
    await expectLimited(t, error, "bytes", ["user hi", "calls c1", "c1 = done"]);
  });

  test("what a hook goes on with", async () => {
    const on = hookAt("beforeEnd", (_, context) => context.goOn([userMessage("go"), userMessage("on")]));
    await using t = await testAgent({ script: [stopResponse("yes")], hooks: [on], config: { maxOutputMessages: 3 } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "output-limit", limit: "messages" });
    expect(linesOf(error.partial?.messages)).toEqual(["user hi", "assistant yes"]);
    expect(await stored(t)).toEqual(["user hi", "assistant yes"]);
  });

  test("what was stored before the turn does not", async () => {
    await using t = await testAgent({ script: [stopResponse("yes")], config: { maxOutputMessages: 2 } });
    t.sessions.seed("s", { messages: [user("u0"), reply("a0"), user("u1"), reply("a1")] });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
  });
});

const half = (text: string) => textStream(text).slice(0, -1);

describe("a reply that is not whole counts like a whole one (L2, L5)", () => {
  test("beyond the limit an aborted one is not stored, and the turn is aborted", async () => {
    await using t = await testAgent({
      script: [modelStep.hang(half("x".repeat(200)))],
      config: { maxOutputBytes: 400 },
    });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    turn.abort();
    const aborted = await turn.result;
    expect([aborted.status, ...linesOf(aborted.messages)]).toEqual(["aborted", "user hi"]);
    expect(await stored(t)).toEqual(["user hi"]);
  });

  test("beyond the limit a broken one is not stored, and the model's error is told", async () => {
    const lost = modelStep.fail(new ModelError("transport", "lost"), half("x".repeat(200)));
    await using t = await testAgent({ script: [lost], config: { maxOutputBytes: 400 } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "transport" } });
    expect(await stored(t)).toEqual(["user hi"]);
  });

  test("beyond the limit an interrupted one ends the turn", async () => {
    await using t = await testAgent({
      script: [modelStep.hang(half("x".repeat(200)))],
      config: { maxOutputBytes: 400 },
    });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    turn.steer("other");
    turn.interrupt();
    const error = await rejectionOf(turn.result);
    expect(linesOf(error.partial?.undelivered)).toEqual(["user other"]);
    await expectLimited(t, error, "bytes", ["user hi"]);
  });

  test("within the limit it takes its room: the steering behind it is one too many", async () => {
    await using t = await testAgent({ script: [modelStep.hang(half("half"))], config: { maxOutputMessages: 2 } });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    turn.steer("other");
    turn.interrupt();
    const error = await rejectionOf(turn.result);
    expect(linesOf(error.partial?.undelivered)).toEqual(["user other"]);
    await expectLimited(t, error, "messages", ["user hi", "assistant half"]);
  });
});

describe("the meter (L2)", () => {
  const unlimited = { maxOutputMessages: Number.POSITIVE_INFINITY, maxOutputBytes: Number.POSITIVE_INFINITY };

  test("refuses a message whose size cannot be told, where bytes are limited", () => {
    const endless = {
      ...user("u1"),
      metadata: {
        toJSON: () => {
          throw new RangeError("Invalid string length");
        },
      },
    };
    const message = endless as unknown as AgentMessage;
    expect(new OutputMeter({ ...unlimited, maxOutputBytes: 1e9 }).refusal(message)).toBe("encoding");
    expect(new OutputMeter({ ...unlimited, maxOutputMessages: 1 }).refusal(message)).toBeUndefined();
  });

  test("counts what was added, and takes several messages together or none", () => {
    const meter = new OutputMeter({ ...unlimited, maxOutputMessages: 4 });
    meter.add(user("u1"));
    expect(meter.refusal(calling("a1", "c1", "c2"))).toBeUndefined();
    expect(meter.refusal(calling("a1", "c1", "c2", "c3"))).toBe("messages");
    expect(meter.refusal(user("u2"), calling("a1", "c1"))).toBeUndefined();
    expect(meter.refusal(user("u2"), calling("a1", "c1", "c2"))).toBe("messages");
    for (const message of [calling("a1", "c1"), result("r1", "c1"), user("u2")]) meter.add(message);
    expect(meter.full).toBe("messages");
    expect(meter.refusal()).toBeUndefined();
  });
});

/** A round of a scripted turn, and what comes from outside meanwhile. */
type Round = { readonly calls: number; readonly steering: number; readonly broken: boolean };

const rounds = fc.array(
  fc.record<Round>({
    calls: fc.nat(3),
    steering: fc.nat(2),
    broken: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
);

test("whatever happens in a turn, its messages are within maxOutputMessages and lawful, and nothing is lost (L2, L3)", async () => {
  await fc.assert(
    fc.asyncProperty(rounds, fc.integer({ min: 1, max: 9 }), async (script, maxOutputMessages) => {
      let round = 0;
      let steered = 0;
      const steer = hookAt("beforeModel", () => {
        const { steering = 0 } = script[round++] ?? {};
        for (let n = 0; n < steering; n++) if (t.agent.steer("s", `more ${steered}`)) steered += 1;
      });
      const steps = script.map(({ calls, broken }, at) => {
        if (broken && at === script.length - 1)
          return modelStep.fail(new ModelError("transport", "lost"), half("half"));
        if (calls === 0) return stopResponse(`said ${at}`);
        return {
          ...toolCallResponse("f", ""),
          parts: Array.from({ length: calls }, (_, n) => ({ ...CALL, id: `${at}.${n}` })),
        };
      });
      await using t = await testAgent({
        script: [...steps, ...Array.from({ length: 20 }, () => stopResponse("end"))],
        tools: { f: toolOutcome.ok("done") },
        hooks: [steer],
        config: { maxOutputMessages },
      });
      const end = await t.agent.runTurn("hi", "s").catch((error: unknown) => {
        if (!(error instanceof AgentError) || error.partial === undefined) throw error;
        if (error.kind !== "model") expect(error).toMatchObject({ kind: "output-limit", limit: "messages" });
        return error.partial;
      });
      expect(end.messages.length).toBeLessThanOrEqual(maxOutputMessages);
      expect(users(end)).toBe(1 + steered);
      await expectLawful(t, "s");
    }),
    { numRuns: 150 },
  );
});

const CALL = { type: "toolCall" as const, name: "f", arguments: {} };
const users = ({ messages, undelivered }: TurnResult): number =>
  [...messages, ...undelivered].filter(({ role }) => role === "user").length;
