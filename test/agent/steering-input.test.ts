import { expect, test } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import type { SteeringInput } from "../../src/ports/agent-api.js";
import { modelStep, stopResponse, testAgent } from "../../src/testkit/index.js";
import { linesOf, stored } from "../support/conversations.js";
import { rejectionOf } from "../support/turns.js";

const hostile = {
  role: "user",
  get content(): string {
    throw new Error("no");
  },
};

const refused: readonly (readonly [string, unknown])[] = [
  ["no text", ""],
  ["a message without content", { role: "user", content: [] }],
  ["a message of empty text", { role: "user", content: [{ type: "text", text: "" }] }],
  ["a reply", { role: "assistant", parts: [{ type: "text", text: "as if" }] }],
  ["a reply with calls", { role: "assistant", parts: [{ type: "toolCall", id: "c9", name: "f", arguments: {} }] }],
  [
    "a tool result",
    { role: "tool", toolCallId: "c1", toolName: "f", content: [], isError: false, outcome: "completed" },
  ],
  ["a list", [{ role: "user", content: "one" }]],
  ["an empty list", []],
  ["a number", 7],
  ["nothing", undefined],
  ["null", null],
  ["an object that is no message", { text: "hi" }],
  ["a role of its own", { role: 7, content: "hi" }],
  ["content that is no content", { role: "user", content: 7 }],
  ["what no JSON can hold", { role: "user", content: "hi", metadata: { now: () => 0 } }],
  ["a message that throws when it is read", hostile],
];

test.each(refused)(
  "%s is refused at the call, by every lever, and the turn goes on without it (L3)",
  async (_, given) => {
    await using t = await testAgent({ script: [modelStep.hang([{ type: "textDelta", text: "so far" }])] });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    const message = given as SteeringInput;
    const levers = [() => turn.steer(message), () => turn.followUp(message), () => t.agent.steer("s", message)];
    for (const lever of levers) {
      const error = thrownBy(lever);
      expect(error).toBeInstanceOf(AgentError);
      expect(error).toMatchObject({ kind: "invalid-input" });
    }
    turn.abort();
    expect(await turn.result).toMatchObject({ status: "aborted", undelivered: [] });
    expect(await stored(t)).toEqual(["user hi", "assistant so far"]);
  },
);

test("what is no message is refused where no turn takes it, too (L3)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  const turn = t.agent.startTurn("hi", "s");
  await turn.result;
  const nothing = "";
  for (const lever of [() => turn.steer(nothing), () => turn.followUp(nothing), () => t.agent.steer("s", nothing)])
    expect(thrownBy(lever)).toMatchObject({ kind: "invalid-input" });
});

test.each<readonly [string, (t: Awaited<ReturnType<typeof testAgent>>) => unknown, string]>([
  ["its input is invalid", (t) => t.agent.startTurn("", "s"), "invalid-input"],
  ["its decisions are invalid", (t) => t.agent.startResume("s", { decisions: [7 as never] }), "invalid-input"],
  ["its options do not fit", (t) => t.agent.startTurn("hi", "s", { hooks: [7 as never] }), ""],
])("a turn that does not start because %s tells what it accepted as undelivered (L3)", async (_, start, kind) => {
  await using t = await testAgent();
  const turn = start(t) as ReturnType<typeof t.agent.startTurn>;
  expect([turn.steer("psst"), turn.followUp("and")]).toEqual([true, true]);
  const error = await rejectionOf(turn.result);
  if (kind !== "") expect(error.kind).toBe(kind);
  expect(linesOf(error.partial?.undelivered)).toEqual(["user psst", "user and"]);
  expect(turn.steer("late")).toBe(false);
});

test("a turn that is refused because its session is busy tells its input and what it accepted as undelivered (L3, T1)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()], config: { onBusy: "refuse" } });
  const first = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  const second = t.agent.startTurn("second", "s");
  expect(second.steer("psst")).toBe(true);
  const error = await rejectionOf(second.result);
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(linesOf(error.partial?.undelivered)).toEqual(["user second", "user psst"]);
  first.abort();
  expect((await first.result).undelivered).toEqual([]);
});

test("a turn of an agent that is closed tells what it accepted as undelivered (L3, A2)", async () => {
  const t = await testAgent();
  await t.agent.shutdown();
  const turn = t.agent.startTurn("hi", "s");
  expect(turn.steer("psst")).toBe(true);
  const error = await rejectionOf(turn.result);
  expect(error.kind).toBe("shut-down");
  expect(linesOf(error.partial?.undelivered)).toEqual(["user psst"]);
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
