import { expect, test } from "vitest";
import { type AgentMessage, userMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { stopResponse, type TestAgent, testAgent, toolOutcome } from "../../src/testkit/index.js";
import { callsOf, hookAt, rejectionOf, resultsIn, resultText } from "../support/turns.js";

const askFirst = hookAt("beforeTool", ({ call }, context) =>
  call.name === "risky" && context.decision === undefined ? context.defer("ask first") : undefined,
);

/** A session whose last reply called two tools, one of which waits for a decision. */
async function waiting(): Promise<TestAgent> {
  const tools = { safe: toolOutcome.ok("fine"), risky: toolOutcome.ok("done") };
  const t = await testAgent({ script: [callsOf("risky", "safe"), stopResponse("next")], tools, hooks: [askFirst] });
  expect((await t.agent.runTurn("go", "s")).status).toBe("deferred");
  return t;
}

const note = { role: "note", id: "n1", at: 1, text: "seen" } as unknown as AgentMessage;

test("a message between turns rejects what waits for a decision, and stands behind its result (U5, S4)", async () => {
  await using t = await waiting();
  const added = await t.agent.appendMessage("s", userMessage("never mind"));
  const { messages, metadata } = await t.agent.session("s");
  expect(messages.at(-1)).toEqual(added);
  expect(transcriptLaw(messages).filter(({ kind }) => kind !== "out-of-order")).toEqual([]);
  expect(resultsIn(messages).map((result) => [result.toolCallId, result.outcome, resultText(result)])).toEqual([
    ["c2", "completed", "fine"],
    ["c1", "not-started", "rejected (needs approval)"],
  ]);
  expect(SESSION_KEYS.deferred in metadata).toBe(false);
  const late = { decisions: [{ callId: "c1", approve: true as const }] };
  expect((await rejectionOf(t.agent.resumeTurn("s", late))).kind).toBe("invalid-input");
  expect((await t.agent.resumeTurn("s")).text).toBe("next");
});

test("a message that no model sees leaves what waits for a decision as it is (U5)", async () => {
  await using t = await waiting();
  await t.agent.appendMessage("s", note);
  const decisions = [{ callId: "c1", approve: true as const }];
  const resumed = await t.agent.resumeTurn("s", { decisions });
  expect([resumed.status, resumed.text]).toEqual(["completed", "next"]);
});

test("in a fork nothing waits for a decision: the call would be decided twice (U5)", async () => {
  await using t = await waiting();
  const fork = await t.agent.sessions.fork("s");
  const { messages, metadata } = await t.agent.session(fork);
  expect(transcriptLaw(messages).filter(({ kind }) => kind !== "out-of-order")).toEqual([]);
  expect(resultsIn(messages).find(({ toolCallId }) => toolCallId === "c1")?.outcome).toBe("not-started");
  expect(SESSION_KEYS.deferred in metadata).toBe(false);
  const decisions = [{ callId: "c1", approve: true as const }];
  expect((await rejectionOf(t.agent.resumeTurn(fork, { decisions }))).kind).toBe("invalid-input");
  expect((await t.agent.resumeTurn("s", { decisions })).status).toBe("completed");
});
