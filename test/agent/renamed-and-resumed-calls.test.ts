import { expect, test } from "vitest";
import type { StageOf } from "../../src/domain/stage.js";
import {
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallsResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { call, callsOf, hookAt, resultText } from "../support/turns.js";

const readOnly = { readOnlyHint: true };

test("a hook behind one that renames a call sees the tool the call has now, and what may be believed of it", async () => {
  const tools = new RecordingToolProvider({ trustAnnotations: true })
    .add("wipe", toolOutcome.ok("wiped"))
    .add({ ...toolDef("look"), annotations: readOnly }, toolOutcome.ok("looked"));
  const names: Readonly<Record<string, string>> = { wipe: "look", look: "nothing", missing: "wipe" };
  const rename = hookAt("beforeTool", ({ call: given }, context) =>
    context.next({ call: { ...given, name: names[given.name] ?? given.name } }),
  );
  const seen: unknown[] = [];
  const see = hookAt("beforeTool", ({ call: { name }, tool, hints }: StageOf<"beforeTool">) => {
    seen.push([name, tool?.name, hints?.readOnly]);
  });
  const script = [callsOf("wipe", "look", "missing"), stopResponse("done")];
  await using t = await testAgent({ script, tools, hooks: [rename, see] });
  const { toolResults } = await t.agent.runTurn("go");
  expect(seen).toEqual([
    ["look", "look", true],
    ["nothing", undefined, undefined],
    ["wipe", "wipe", false],
  ]);
  expect(toolResults.map(resultText)).toEqual(["looked", expect.stringContaining("no tool named nothing"), "wiped"]);
});

test("a hook that leaves the name leaves the tool", async () => {
  const rewrite = hookAt("beforeTool", ({ call: given }, context) =>
    context.next({ call: { ...given, arguments: { at: "sky" } } }),
  );
  const seen: unknown[] = [];
  const see = hookAt("beforeTool", ({ tool, hints }) => void seen.push(tool?.name, hints?.destructive));
  const script = [callsOf("look"), stopResponse("done")];
  await using t = await testAgent({ script, tools: { look: toolOutcome.ok("x") }, hooks: [rewrite, see] });
  await t.agent.runTurn("go");
  expect(seen).toEqual(["look", true]);
});

test("results of a resumed turn are in the order of their calls, in whatever order they ended (U5)", async () => {
  const wait = hookAt("beforeTool", (_stage, context) => (context.decision ? undefined : context.defer("later")));
  const script = [toolCallsResponse(...["c1", "c2", "c3"].map((id) => call("look", id))), callsOf("look")];
  await using t = await testAgent({ script, tools: { look: toolOutcome.held() }, hooks: [wait] });
  await t.agent.runTurn("go", "s");
  const decisions = ["c1", "c2", "c3"].map((callId) => ({ callId, approve: true }) as const);
  const turn = t.agent.startResume("s", { decisions });
  for (const id of ["c3", "c1", "c2"]) {
    await t.tools.started(id);
    t.tools.settle(id, toolOutcome.ok(id));
  }
  const { status, messages, toolResults, exchanges } = await turn.result;
  expect(status).toBe("deferred");
  expect(toolResults.map(resultText)).toEqual(["c1", "c2", "c3"]);
  expect(exchanges.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3"]);
  expect(messages.map(({ role }) => role)).toEqual(["tool", "tool", "tool", "assistant"]);
});
