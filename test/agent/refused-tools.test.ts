import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, rejectionOf, toldResults } from "../support/turns.js";
const secondary = (t: TestAgent): unknown[] =>
  t.observer
    .ofType("custom")
    .filter(({ label }) => label === "secondary_failure")
    .map(({ data }) => data);

const badTool = (toolName: string | undefined) => new ModelError("invalid-request", "bad schema", { toolName });
const toolsOf = (t: TestAgent): string[][] => t.model.requests.map(({ tools }) => tools.map(({ name }) => name));
const two = { f: toolOutcome.ok("F"), g: toolOutcome.ok("G") };

describe("a tool that the provider refuses (C3)", () => {
  test("is left out for the rest of the turn, and the model is asked once more", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), stopResponse("yes"), stopResponse("on")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"], ["g"]]);
    expect(secondary(t)).toEqual([
      { stage: "model", operation: "leave out tool f", errorCategory: "ModelError(invalid-request)" },
    ]);
    await t.agent.runTurn("more", "s");
    expect(toolsOf(t).at(-1)).toEqual(["f", "g"]);
  });

  test("stays left out when the tools are listed again in the turn", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), stopResponse("yes")],
      tools: two,
      hooks: [hookAt("afterTool", () => void t.tools.add("h", toolOutcome.ok()))],
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t).at(-1)).toEqual(["g", "h"]);
  });

  test("is unknown to a model that calls it all the same", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("f", "g"), stopResponse("yes")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["g"]);
    expect(toldResults(t)["c1"]).toMatch(/unknown tool|no tool/i);
    expect(toldResults(t)["c2"]).toBe("G");
  });

  test("and another one in the same round: the provider's error stands", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), modelStep.fail(badTool("g")), stopResponse("never")],
      tools: two,
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "invalid-request", toolName: "g" } });
    expect(t.model.callCount).toBe(2);
  });

  test("in a later round is left out too", async () => {
    await using t = await testAgent({
      script: [modelStep.fail(badTool("f")), callsOf("g"), modelStep.fail(badTool("g")), stopResponse("yes")],
      tools: two,
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"], ["g"], []]);
  });

  test("that is named once more is not left out twice", async () => {
    const again = hookAt("beforeModel", ({ tools }, context) =>
      context.next({ tools: [...tools.filter(({ name }) => name !== "f"), toolDef("f")] }),
    );
    await using t = await testAgent({
      script: Array.from({ length: 9 }, () => modelStep.fail(badTool("f"))),
      tools: two,
      hooks: [again],
    });
    expect((await rejectionOf(t.agent.runTurn("hi", "s"))).cause).toMatchObject({ toolName: "f" });
    expect(t.model.callCount).toBe(2);
  });

  test.each<[string, TestAgentOptions, string | undefined]>([
    ["the model was to call just that one", { config: { toolChoice: { tool: "f" } } }, "f"],
    [
      "it is the only one, and the model was to call one",
      { config: { toolChoice: "required" }, tools: { f: two.f } },
      "f",
    ],
    [
      "a hook made the model call just that one",
      {
        hooks: [
          hookAt("beforeModel", ({ options }, context) =>
            context.next({ options: { ...options, toolChoice: { tool: "f" } } }),
          ),
        ],
      },
      "f",
    ],
    ["the model was not shown it", {}, "h"],
    ["the provider names none", {}, undefined],
  ])("is not left out where %s", async (_, options, toolName) => {
    const script = [modelStep.fail(badTool(toolName)), stopResponse("never")];
    await using t = await testAgent({ tools: two, ...options, script });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "invalid-request" } });
    expect(t.model.callCount).toBe(1);
    expect(secondary(t)).toEqual([]);
    await expectLawful(t, "s");
  });

  test.each<[string, TestAgentOptions]>([
    ["another one is asked for", { config: { toolChoice: { tool: "g" } } }],
    ["one of several is asked for", { config: { toolChoice: "required" } }],
    [
      "a hook frees the model of the choice",
      {
        config: { toolChoice: { tool: "f" } },
        hooks: [
          hookAt("beforeModel", ({ options }, context) =>
            context.next({ options: { ...options, toolChoice: "auto" } }),
          ),
        ],
      },
    ],
  ])("is left out where %s", async (_, options) => {
    const script = [modelStep.fail(badTool("f")), stopResponse("yes")];
    await using t = await testAgent({ tools: two, ...options, script });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(toolsOf(t)).toEqual([["f", "g"], ["g"]]);
  });

  test("is told by a label, whatever its name", async () => {
    const name = `f\u001b[31m${"n".repeat(500)}`;
    await using t = await testAgent({
      script: [modelStep.fail(badTool(name)), stopResponse("yes")],
      tools: { [name]: toolOutcome.ok() },
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    const [failure] = secondary(t) as readonly { readonly operation: string }[];
    expect(failure?.operation).not.toMatch(/\p{Cc}/u);
    expect(failure?.operation.length).toBeLessThan(120);
  });
});
