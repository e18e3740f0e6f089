import { expect, test } from "vitest";
import type { StageKind } from "../../src/domain/stage.js";
import type { PipelineHook } from "../../src/ports/hook.js";
import {
  RecordingHook,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";

function logging(name: string, log: string[], stages?: readonly StageKind[]): PipelineHook {
  return {
    name,
    ...(stages === undefined ? undefined : { stages }),
    onStage: (stage) => void log.push(`${name} ${stage.kind}`),
  };
}

const script = [toolCallResponse("weather", "c1"), stopResponse("done")];

test("a call passes the agent's hooks, the turn's and the tool's own, and comes back the other way (H2)", async () => {
  const log: string[] = [];
  const around: readonly StageKind[] = ["beforeTool", "toolError", "afterTool", "settleTool"];
  const tools = new RecordingToolProvider({
    hooks: () => ({
      beforeExecute: () => void log.push("tool beforeExecute"),
      afterExecute: () => void log.push("tool afterExecute"),
    }),
  }).add("weather", toolOutcome.ok("sunny"));
  await using t = await testAgent({
    script,
    tools,
    hooks: [logging("agent-1", log, around), logging("agent-2", log, around)],
  });
  await t.agent.runTurn("hi", undefined, { hooks: [logging("turn", log, around)] });
  expect(log).toEqual([
    "agent-1 beforeTool",
    "agent-2 beforeTool",
    "turn beforeTool",
    "tool beforeExecute",
    "tool afterExecute",
    "turn afterTool",
    "agent-2 afterTool",
    "agent-1 afterTool",
    "turn settleTool",
    "agent-2 settleTool",
    "agent-1 settleTool",
  ]);
});

test("before and forward stages run from the agent's hooks to the turn's, after stages in reverse", async () => {
  const log: string[] = [];
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [logging("agent", log)] });
  await t.agent.runTurn("hi", undefined, { hooks: [logging("turn", log)] });
  const pairs = Array.from({ length: log.length / 2 }, (_, i) => log.slice(2 * i, 2 * i + 2).join(", "));
  expect(pairs).toEqual([
    "agent beforeTurn, turn beforeTurn",
    "agent beforeTools, turn beforeTools",
    "agent chooseTools, turn chooseTools",
    "agent beforeContext, turn beforeContext",
    "agent beforeModel, turn beforeModel",
    "turn afterModel, agent afterModel",
    "agent beforeContinue, turn beforeContinue",
    "agent beforeEnd, turn beforeEnd",
    "turn afterTurn, agent afterTurn",
  ]);
});

test("the first outcome that ends a before stage wins, and hooks behind it are not asked (H1)", async () => {
  const [outer, inner] = [new RecordingHook({ name: "outer" }), new RecordingHook({ name: "inner" })];
  outer.answerWhen("beforeTool", "from the outer");
  await using t = await testAgent({ script, tools: { weather: toolOutcome.ok("real") }, hooks: [outer, inner] });
  const result = await t.agent.runTurn("hi");
  expect(inner.stagesOf("beforeTool")).toEqual([]);
  expect(inner.stagesOf("afterTool")).toEqual([]);
  expect(outer.stagesOf("afterTool")).toMatchObject([{ answered: true }]);
  expect(t.tools.execRecords).toEqual([]);
  expect(result.toolResults).toMatchObject([
    { content: [{ type: "text", text: "from the outer" }], outcome: "not-started" },
  ]);
});

test("an after stage goes on past a hook that throws, and each hook sees what the inner one made (H1)", async () => {
  const [outer, middle, inner] = ["outer", "middle", "inner"].map((name) => new RecordingHook({ name }));
  middle?.throwWhen("afterTool");
  inner?.replyWhen("afterTool", (_, context) => context.patch({ content: [{ type: "text", text: "patched" }] }));
  const hooks = [outer, middle, inner].filter((hook) => hook !== undefined);
  await using t = await testAgent({ script, tools: { weather: toolOutcome.ok("real") }, hooks });
  const result = await t.agent.runTurn("hi");
  expect(outer?.stagesOf("afterTool")).toMatchObject([{ result: { content: [{ text: "patched" }] } }]);
  expect(result.toolResults).toMatchObject([{ content: [{ text: "patched" }], outcome: "completed" }]);
});
