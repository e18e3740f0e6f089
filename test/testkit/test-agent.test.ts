import { expect, test } from "vitest";
import {
  commandDef,
  modelStep,
  RecordingCommands,
  RecordingCompressor,
  RecordingHook,
  RecordingLifecycle,
  RecordingMemory,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";

test("one line makes an agent whose fakes are all within reach", async () => {
  await using t = await testAgent({
    script: [toolCallResponse("weather", "c1", { city: "Bern" }), stopResponse("sunny")],
    tools: { weather: toolOutcome.ok("sun") },
  });
  const result = await t.agent.runTurn("How is the weather?", "s");
  expect(result.text).toBe("sunny");
  expect(t.tools.execRecords).toMatchObject([{ toolName: "weather", arguments: { city: "Bern" }, outcome: "ok" }]);
  expect(t.model.callCount).toBe(2);
  expect(t.observer.ofType("turnCompleted")).toHaveLength(1);
  expect(t.sessions.saveSnapshots().at(-1)?.session.messages).toHaveLength(4);
  expect(t.secondaryFailures).toEqual([]);
  t.assertDone();
});

test("the agent runs on the virtual clock and counting ids, so two of them tell the very same events", async () => {
  const run = async () => {
    await using t = await testAgent({ script: [stopResponse("hi")] });
    await t.agent.runTurn("hi", "s");
    return t.observer.events;
  };
  expect(await run()).toEqual(await run());
});

test("assertDone speaks for every fake", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  await t.agent.runTurn("hi");
  expect(() => t.assertDone()).toThrow("scripted_model_unfinished: 1 of 2 steps were used");
  await t.agent.runTurn("hi");
  t.assertDone();
  t.tools.forCall("c1", toolOutcome.ok());
  expect(() => t.assertDone()).toThrow("no call c1 came");
});

test("the other ports take fakes too, and the end of the scope shuts the agent down", async () => {
  const [hook, compressor] = [new RecordingHook({ name: "spy" }), new RecordingCompressor()];
  const [memory, lifecycle] = [new RecordingMemory(), new RecordingLifecycle()];
  const commands = new RecordingCommands().add(commandDef("hello"), { type: "success", feedback: "hi" });
  {
    await using t = await testAgent({
      script: [stopResponse("hi")],
      hooks: [hook],
      compressors: [compressor],
      memory: [memory],
      lifecycles: [lifecycle],
      commands: [commands],
      config: { system: "Be brief." },
    });
    await t.agent.runTurn("hi");
    await t.agent.memory.search({ query: "x" });
    expect(await t.agent.commands.invoke("hello", {})).toEqual({ type: "success", feedback: "hi" });
    expect(t.model.requests[0]?.messages[0]).toMatchObject({ role: "system" });
  }
  expect(hook.kinds).toContain("afterTurn");
  expect(compressor.records).toHaveLength(1);
  expect(memory.ops).toHaveLength(1);
  lifecycle.assertDone();
  expect(lifecycle.calls).toEqual(["start", "shutdown"]);
});

test("the end of the scope also ends a turn that still runs, in virtual time", async () => {
  let running: Promise<unknown> | undefined;
  {
    await using t = await testAgent({ script: [modelStep.hang()] });
    running = t.agent.runTurn("hi", "s");
    await t.runtime.advance(0);
  }
  expect(await running).toMatchObject({ status: "aborted" });
});

test("a test agent refuses an option that nobody reads", async () => {
  await expect(testAgent({ hook: [] } as never)).rejects.toThrow("testAgent has no option hook; did you mean hooks?");
});
