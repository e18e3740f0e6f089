import { type PipelineHook, SessionError, textOf } from "ennead";
import {
  assertEventsContain,
  assertTranscriptLaw,
  fault,
  failing,
  modelStep,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  textStream,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
  traceOf,
} from "ennead/testkit";
import { expect, test } from "vitest";

// #region first
test("the agent looks the weather up before it answers", async () => {
  await using fake = await testAgent({
    script: [toolCallResponse("weather", "call-1", { city: "Bern" }), stopResponse("Sunny in Bern.")],
    tools: { weather: toolOutcome.ok("sunny") },
    config: { system: "You know the weather." },
  });

  const { text } = await fake.agent.runTurn("How is Bern?", "session-1");

  expect(text).toBe("Sunny in Bern.");
  expect(fake.tools.execRecords).toMatchObject([{ toolName: "weather", arguments: { city: "Bern" }, outcome: "ok" }]);
  // What the model was asked the second time: the conversation with the result in it.
  expect(fake.model.requests[1]?.messages.slice(1).map(textOf)).toEqual(["How is Bern?", "", "sunny"]);
  // Nothing of the script is left, and nothing runs.
  fake.assertDone();
});
// #endregion first

// #region order
test("two calls may end in any order, and the model reads their results in that of the calls", async () => {
  await using fake = await testAgent({
    script: [
      toolCallsResponse({ name: "slow", id: "a", arguments: {} }, { name: "fast", id: "b", arguments: {} }),
      stopResponse("Both are there."),
    ],
    tools: { slow: toolOutcome.held(), fast: toolOutcome.held() },
  });
  const turn = fake.agent.startTurn("Fetch both.", "session-1");

  await Promise.all([fake.tools.started("a"), fake.tools.started("b")]);
  fake.tools.settle("b", toolOutcome.ok("second"));
  fake.tools.settle("a", toolOutcome.ok("first"));
  await turn.result;

  expect(fake.model.requests[1]?.messages.map(textOf)).toEqual(["Fetch both.", "", "first", "second"]);
  // Every call has one result, at its place.
  assertTranscriptLaw((await fake.sessions.load("session-1")).messages);
});
// #endregion order

// #region time
test("a tool that hangs is given up after its time, and nobody waits for it", async () => {
  await using fake = await testAgent({
    script: [toolCallResponse("look", "call-1"), stopResponse("It takes too long.")],
    tools: { look: toolOutcome.hangs() },
    config: { toolTimeoutMs: 30_000 },
  });
  const turn = fake.agent.startTurn("Look!");
  await fake.runtime.advance(30_000);
  expect((await turn.result).text).toBe("It takes too long.");
  assertEventsContain([{ type: "toolCallResult", isError: true }], fake.observer);
});
// #endregion time

// #region abort
test("what was said before an abort is kept, and says so", async () => {
  await using fake = await testAgent({ script: [modelStep.hang(textStream("Once upon a time", 2).slice(0, 1))] });
  const turn = fake.agent.startTurn("Tell me a tale.", "session-1");
  for await (const _ of turn.text()) turn.abort("enough");
  expect((await turn.result).status).toBe("aborted");
  const { messages } = await fake.sessions.load("session-1");
  expect(messages.at(-1)).toMatchObject({ role: "assistant", stopped: "aborted" });
});
// #endregion abort

// #region trace
test("the turn tells what happens, in this order", async () => {
  await using fake = await testAgent({
    script: [toolCallResponse("weather", "call-1"), stopResponse("Sunny.")],
    tools: { weather: toolOutcome.error("no such city") },
  });
  await fake.agent.runTurn("How is Atlantis?");
  assertEventsContain(
    [
      "turnStarted",
      { type: "toolCallResult", exchange: { call: { id: "call-1" } }, isError: true },
      { type: "turnCompleted" },
    ],
    fake.observer,
  );
  // The whole trace is a list of short lines, good for a golden test.
  expect(traceOf(fake.observer)[0]).toBe("turnStarted");
});
// #endregion trace

// #region hook
/** Refuses tools that send something. */
const careful: PipelineHook = {
  stages: ["beforeTool"],
  onStage: (stage, context) =>
    stage.kind === "beforeTool" && stage.call.name === "send" ? context.block("nothing is sent") : undefined,
};

test("a hook of your own keeps a tool from running", async () => {
  await using fake = await testAgent({
    script: [toolCallResponse("send", "call-1"), stopResponse("I may not.")],
    tools: { send: toolOutcome.ok() },
    hooks: [careful],
  });
  await fake.agent.runTurn("Send it.");
  expect(fake.tools.execRecords).toEqual([]);
});
// #endregion hook

// #region fault
test("a turn whose question cannot be stored fails before the model is asked", async () => {
  const store = failing(new RecordingSessionStore(), [
    { on: "append", nth: 1, does: fault.fails(new SessionError("save", "disk full")) },
  ]);
  await using fake = await testAgent({ script: [stopResponse("Hi.")], sessions: [store] });
  await expect(fake.agent.runTurn("Hello", "session-1")).rejects.toThrow("could not append to session");
  expect(fake.model.callCount).toBe(0);
  // The plan came true to its last line.
  store.assertDone();
});
// #endregion fault
