import type { ModelResponse } from "../../../domain/model.js";
import type { ToolCall } from "../../../domain/tool.js";
import type { ModelPort } from "../../../ports/model.js";

/** Nothing was asked of a model, and nobody is charged. */
const USAGE = Object.freeze({ inputTokens: 0, outputTokens: 0 });

/** Stands for the model in the turn of one call: it asks for that call, and then says nothing more. */
export function calledToolModel(call: ToolCall): ModelPort {
  const asked: ModelResponse = { parts: [{ type: "toolCall", ...call }], finishReason: "tool-calls", usage: USAGE };
  const over: ModelResponse = { parts: [{ type: "text", text: "" }], finishReason: "stop", usage: USAGE };
  return {
    describe: () => ({ provider: "mcp", model: "client" }),
    chat: ({ messages }) => Promise.resolve(messages.some(({ role }) => role === "tool") ? over : asked),
  };
}
