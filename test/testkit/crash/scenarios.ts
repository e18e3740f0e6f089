import type { ModelResponse } from "../../../src/domain/model.js";
import type { Runtime } from "../../../src/ports/runtime.js";
import type { ToolProvider } from "../../../src/ports/tool-provider.js";
import {
  ConversingModel,
  type CrashScenario,
  modelStep,
  type ModelStep,
  RecordingToolProvider,
  stopResponse,
  textStream,
  toolCallsResponse,
  toolDef,
  toolOutcome,
  type ToolStep,
} from "../../../src/testkit/index.js";
import { approve, askingFor } from "../../support/resuming.js";
import { call, hookAt } from "../../support/turns.js";

type Parts = { readonly script?: readonly (ModelStep | ModelResponse)[]; readonly tools?: Record<string, ToolStep> };

export const payments = [
  toolCallsResponse(call("pay", "c1", { cents: 5 }), call("look", "c2")),
  toolCallsResponse(call("pay", "c3", { cents: 7 })),
  stopResponse("paid"),
];

export const parts = ({ script = payments, tools = {} }: Parts = {}) => {
  const shop = new RecordingToolProvider({ name: "shop", trustAnnotations: true });
  shop.add("pay", tools["pay"] ?? toolOutcome.ok("paid"));
  shop.add({ ...toolDef("look"), annotations: { readOnlyHint: true } }, tools["look"] ?? toolOutcome.ok("seen"));
  return { model: new ConversingModel(script), tools: [shop] };
};

/** A tool that takes most of a minute. */
const slowly = (runtime: Runtime): ToolProvider => ({
  listTools: () => [toolDef("pay"), toolDef("look")],
  execute: async () => {
    await new Promise<void>((resolve) => void runtime.after(50_000, resolve));
    return "slow";
  },
});

const noted = { ok: true };

/** Turns of many kinds, all of which survive every crash. */
export const scenarios: Record<string, CrashScenario> = {
  "two rounds of tools": { ports: () => parts(), input: "pay" },
  "a reply in pieces": {
    ports: () => parts({ script: [modelStep.stream(textStream("a long reply", 4))] }),
    input: "say",
  },
  "tools that fail": { ports: () => parts({ tools: { pay: toolOutcome.throws(new Error("closed")) } }), input: "pay" },
  "a hook that works in steps": {
    ports: () => ({
      ...parts(),
      hooks: [
        hookAt("beforeTool", async (_, context) => void (await context.step("note", async () => noted)), "noting"),
      ],
    }),
    input: "pay",
  },
  "a prompt that is made, and a turn before": {
    ports: () => ({
      ...parts({ script: [stopResponse("first"), stopResponse("second")] }),
      config: { system: () => "be exact" },
    }),
    before: (agent, id) => agent.runTurn("once", id),
    input: "twice",
  },
  "a call that waits for a person": { ports: () => ({ ...parts(), hooks: [askingFor("c1")] }), input: "pay" },
  "a call that a person approved": {
    ports: () => ({
      ...parts({ script: [payments[0] as ModelResponse, stopResponse("paid")] }),
      hooks: [askingFor("c1")],
    }),
    before: (agent, id) => agent.runTurn("pay", id),
    decisions: [approve("c1")],
  },
  "a tool that takes longer than a heartbeat": {
    ports: ({ runtime }) => ({ ...parts(), tools: [slowly(runtime)] }),
    input: "pay",
  },
};
