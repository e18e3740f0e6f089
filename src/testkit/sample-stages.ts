import { ModelError, ToolError } from "../domain/errors.js";
import type { AssistantMessage, UserMessage } from "../domain/message.js";
import { STAGE_KINDS, type Stage, type StageBodies, type StageKind } from "../domain/stage.js";
import { okResult, type ToolCall, type ToolExchange, type ToolInvocation } from "../domain/tool.js";
import { toolHints } from "../domain/tool-hints.js";
import type { TurnResult } from "../domain/turn-result.js";
import { toolDef } from "./builders.js";
import { TEST_START } from "./runtime.js";

/** One well-formed stage of every kind, in the order of `STAGE_KINDS`. Fresh, unfrozen objects at every call. */
export function sampleStages(): Stage[] {
  const bodies = sampleBodies();
  return STAGE_KINDS.map((kind) => stageOf(kind, bodies));
}

/** A stage of a kind this version does not know. */
export function unknownStage(): Stage {
  const stage: object = { kind: "somethingNew", payload: { nested: [1, "two"] } };
  return stage as Stage;
}

function stageOf(kind: StageKind, bodies: StageBodies): Stage {
  return { kind, ...bodies[kind] } as Stage;
}

function sampleBodies(): StageBodies {
  const tool = toolDef("weather");
  const call: ToolCall = { id: "call-1", name: "weather", arguments: { city: "Bern", days: [1, 2] } };
  const result = okResult("sunny");
  const user: UserMessage = { id: "m.0", at: TEST_START, role: "user", content: [{ type: "text", text: "hello" }] };
  const failed = new ToolError("invocation-failed", "the tool failed");
  const end = { round: 1, message: sampleReply(call), exchanges: [sampleExchange(call)], natural: false };
  return {
    beforeTurn: { input: [{ role: "user", content: "hello" }] },
    beforeTools: { reason: "turn-start" },
    chooseTools: { reason: "turn-start", tools: [tool] },
    beforeSteering: { input: [{ role: "user", content: "and quickly" }] },
    beforeContext: { messages: [user] },
    beforeModel: { messages: [{ ...user }], tools: [toolDef("weather")], options: { temperature: 0 } },
    afterModel: { response: { parts: [{ type: "text", text: "hi" }], finishReason: "stop" } },
    modelError: { error: new ModelError("server", "the server failed"), attempt: 1, phase: "send" },
    beforeTool: { call: structuredClone(call), tool: toolDef("weather"), hints: toolHints(tool, { trusted: false }) },
    admitTool: { invocation: sampleInvocation(call) },
    toolError: { call: structuredClone(call), error: failed },
    afterTool: { call: structuredClone(call), result },
    settleTool: { exchange: sampleExchange(call) },
    beforeContinue: end,
    beforeEnd: { ...structuredClone(end), exchanges: [], natural: true },
    afterTurn: { result: sampleResult(user) },
    turnError: { error: new Error("the turn failed") },
  };
}

function sampleReply(call: ToolCall): AssistantMessage {
  return { id: "m.1", at: TEST_START, role: "assistant", parts: [{ type: "toolCall", ...structuredClone(call) }] };
}

function sampleInvocation({ id, name, arguments: input }: ToolCall): ToolInvocation {
  const originalInput = structuredClone(input);
  const executedInput = structuredClone(input);
  const place = { executionId: "m.1.0", sourceOrder: 0, callId: id, toolName: name };
  return { ...place, originalInput, executedInput, executionMode: "parallel" };
}

function sampleExchange(call: ToolCall): ToolExchange {
  const settled = { outcome: "completed", cancellationRequested: false, result: okResult("sunny") } as const;
  return { ...sampleInvocation(call), call: structuredClone(call), ...settled };
}

function sampleResult(user: UserMessage): TurnResult {
  const none = { toolResults: [], exchanges: [], deferred: [], undelivered: [] };
  const usage = { inputTokens: 3, outputTokens: 2 };
  const id = { turnId: "turn-1", finalSessionId: "session-1" };
  return { status: "completed", ...id, text: "", messages: [structuredClone(user)], ...none, usage, rounds: 1 };
}
