import { describe, expect, it } from "vitest";
import { guardrail } from "../../src/adapters/hooks/guardrail.js";
import { redact } from "../../src/adapters/hooks/redact.js";
import { stopResponse, testAgent, type TestAgent, type TestAgentOptions } from "../../src/testkit/index.js";
import { linesOf, sent, stored } from "../support/conversations.js";
import { expectLawful, hookAt, never, rejectionOf } from "../support/turns.js";

const SECRET = "sk-12345678";
const script = () => [stopResponse("one"), stopResponse("two")];

/** A turn into which two things are said, one for now and one for its end. */
function saying(t: TestAgent, ...said: readonly [string, string]) {
  const turn = t.agent.startTurn("hi", "s");
  turn.steer(said[0]);
  turn.followUp(said[1]);
  return turn;
}

const agentOf = (options: TestAgentOptions): Promise<TestAgent> => testAgent({ script: script(), ...options });

describe("what is said into a running turn", () => {
  it("passes beforeSteering before it is stored, told or sent: steering, then follow-ups", async () => {
    const seen: unknown[] = [];
    const hook = hookAt("beforeSteering", async ({ input }, context) => {
      seen.push(input, linesOf(context.newMessages));
      return context.next({ input: input.map(() => ({ role: "user", content: `(${seen.length})` })) });
    });
    await using t = await agentOf({ hooks: [hook] });
    const result = await saying(t, "now", "then").result;
    expect(seen).toEqual([
      [{ role: "user", content: [{ type: "text", text: "now" }] }],
      ["user hi"],
      [{ role: "user", content: [{ type: "text", text: "then" }] }],
      ["user hi", "user (2)", "assistant one"],
    ]);
    const told = ["user hi", "user (2)", "assistant one", "user (4)", "assistant two"];
    expect([linesOf(result.messages), await stored(t), sent(t)]).toEqual([told, told, told.slice(0, -1)]);
    expect(result.undelivered).toEqual([]);
    await expectLawful(t, "s");
  });

  it("costs no hook anything where nothing is said", async () => {
    let asked = 0;
    await using t = await agentOf({ hooks: [hookAt("beforeSteering", () => void asked++)] });
    await t.agent.runTurn("hi", "s");
    expect(asked).toBe(0);
  });

  it("is undelivered where a hook stops or aborts the turn for it, or fails, and is not stored (L3)", async () => {
    const answers: [() => unknown, string][] = [
      [() => ({ kind: "stop", reason: "enough" }), "stopped"],
      [() => ({ kind: "abort", reason: "enough" }), "hook-aborted"],
      [() => Promise.reject(new Error("no")), "hook-aborted"],
    ];
    for (const [answer, end] of answers) {
      await using t = await agentOf({ hooks: [hookAt("beforeSteering", answer)] });
      const { result } = saying(t, "now", "then");
      const told = end === "stopped" ? await result : await rejectionOf(result);
      expect(told).toMatchObject(end === "stopped" ? { status: "stopped", stopReason: "enough" } : { kind: end });
      const { undelivered = [] } = "partial" in told ? (told.partial ?? {}) : (told as Awaited<typeof result>);
      expect([linesOf(undelivered), await stored(t), t.model.callCount]).toEqual([
        ["user now", "user then"],
        ["user hi"],
        0,
      ]);
    }
  });

  it("is undelivered where an abort meets a hook that hangs on it (L5, L3)", async () => {
    await using t = await agentOf({ hooks: [hookAt("beforeSteering", never)] });
    const turn = saying(t, "now", "then");
    await t.runtime.advance(0);
    turn.abort();
    await t.runtime.advance(1_000);
    const result = await turn.result;
    expect([result.status, linesOf(result.undelivered)]).toEqual(["aborted", ["user now", "user then"]]);
    expect(await stored(t)).toEqual(["user hi"]);
  });

  it("is stored as redact leaves it", async () => {
    await using t = await agentOf({ hooks: [redact({ secrets: [SECRET], places: ["input"] })] });
    const result = await saying(t, `use ${SECRET}`, `and ${SECRET}`).result;
    const kept = JSON.stringify([result, t.observer.events, t.model.requests, await t.agent.session("s")]);
    expect(kept).not.toContain(SECRET);
    expect(await stored(t)).toContain("user use [redacted secret]");
  });

  it("is checked by guardrail before it is stored, once", async () => {
    const seen: string[] = [];
    const input = (text: string) => (seen.push(text), text === "now" ? { replace: "soon" } : undefined);
    await using t = await agentOf({ hooks: [guardrail({ input })] });
    await saying(t, "now", "then").result;
    expect([seen, await stored(t)]).toEqual([
      ["hi", "now", "then"],
      ["user hi", "user soon", "assistant one", "user then", "assistant two"],
    ]);
    await using blocking = await agentOf({
      hooks: [guardrail({ input: (text) => (text === "now" ? { block: "not now" } : undefined) })],
    });
    const error = await rejectionOf(saying(blocking, "now", "then").result);
    expect([error.kind, await stored(blocking), blocking.model.callCount]).toEqual(["hook-aborted", ["user hi"], 0]);
  });
});
