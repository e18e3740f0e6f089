import { expect, test } from "vitest";
import type { AgentError } from "../../src/domain/errors.js";
import { type ToolCall, type ToolExchange } from "../../src/domain/tool.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import type { TurnHandle } from "../../src/ports/agent-api.js";
import { stopResponse, type TestAgent, testAgent, toolCallsResponse, toolOutcome } from "../../src/testkit/index.js";
import { callingWith, user } from "../support/conversations.js";
import { call, hookAt, resultText } from "../support/turns.js";
import { c1, c2, type Expected, type Way, WAYS_TO_END } from "../support/ways-to-end.js";

/** How the turn ended, failed or not. */
const partialOf = (turn: TurnHandle): Promise<TurnResult> =>
  turn.result.catch((error: AgentError) => {
    if (error.partial === undefined) throw error;
    return error.partial;
  });

/** A turn that begins where `decisions` take a session up, or with the model. */
async function startOf(t: TestAgent, way: Way, calls: readonly ToolCall[]): Promise<TurnHandle> {
  if (way.decisions === undefined) return t.agent.startTurn("go", "s");
  if (way.decisions.length > 0) await t.agent.runTurn("go", "s");
  else t.sessions.seed("s", { messages: [user("go"), callingWith("a", ...calls)] });
  return t.agent.startResume("s", { decisions: way.decisions });
}

test.each(WAYS_TO_END)(
  "of a call that $title one exchange is told alike to events, hooks and the result (U4)",
  async (way) => {
    const calls = way.calls ?? [c1];
    const settled: ToolExchange[] = [];
    const ledger = hookAt("settleTool", ({ exchange }) => void settled.push(exchange), "ledger");
    const asks = { ...toolCallsResponse(...calls), ...way.reply };
    const script = way.decisions?.length === 0 ? [stopResponse("done")] : [asks, stopResponse("done")];
    const { hooks = [], ...options } = way.options ?? {};
    await using t = await testAgent({ script, hooks: [...hooks, ledger], ...options });
    const turn = await startOf(t, way, calls);
    await way.drive?.(turn, t);
    const result = await partialOf(turn);
    const bySource = (a: ToolExchange, b: ToolExchange) => a.sourceOrder - b.sourceOrder;
    const told = t.observer.ofType("toolCallResult");
    const exchanges = result.exchanges;
    expect(told.map(({ exchange }) => exchange).sort(bySource)).toEqual(exchanges);
    expect(settled.sort(bySource)).toEqual(exchanges);
    expect(exchanges).toHaveLength(way.expected.length);
    const stored = (await t.agent.session("s")).messages;
    const reply = stored.find((message) => message.role === "assistant");
    for (const [order, exchange] of exchanges.entries()) {
      const { told: text, isError = false, ...expected } = way.expected[order] as Expected;
      const asked = calls[order] as ToolCall;
      expect(exchange).toMatchObject({
        executionId: `${reply?.id}.${order}`,
        sourceOrder: order,
        callId: asked.id,
        toolName: asked.name,
        originalInput: asked.arguments,
        call: asked,
        ...expected,
        result: { isError },
      });
      expect(told.find(({ exchange: { callId } }) => callId === asked.id)?.isError).toBe(isError);
      // What it ran with is told of a call that ran here, and of no other.
      const started = t.observer.ofType("toolCallStarted").filter(({ invocation }) => invocation.callId === asked.id);
      expect(started.map(({ invocation }) => invocation.executedInput)).toEqual(
        exchange.executedInput === undefined ? [] : [exchange.executedInput],
      );
      if (exchange.executedInput === undefined) expect(exchange).not.toHaveProperty("startedAt");
      expect(exchange.executedInput).toEqual(expected.executedInput);
      const message = result.toolResults.find(({ toolCallId }) => toolCallId === asked.id);
      expect(message).toMatchObject({ outcome: exchange.outcome, isError });
      expect(stored).toContainEqual(message);
      expect(resultText(message)).toMatch(text);
      expect(exchange.result.content).toEqual(message?.content);
      expect(Object.isFrozen(exchange)).toBe(true);
    }
  },
);

test("each started call was admitted with the very invocation that ran, in source order (U4)", async () => {
  const admitted: unknown[] = [];
  const gate = hookAt("admitTool", ({ invocation }) => void admitted.push(invocation));
  const script = [toolCallsResponse(c1, c2, call("g", "c3")), stopResponse("done")];
  await using t = await testAgent({
    script,
    tools: { f: toolOutcome.ok("fine"), g: toolOutcome.ok("fine") },
    hooks: [gate],
  });
  await t.agent.runTurn("go", "s");
  expect(admitted).toEqual(t.observer.ofType("toolCallStarted").map(({ invocation }) => invocation));
  expect(t.tools.execRecords.map(({ executionId, arguments: args }) => [executionId, args])).toEqual(
    t.observer.ofType("toolCallStarted").map(({ invocation }) => [invocation.executionId, invocation.executedInput]),
  );
});
