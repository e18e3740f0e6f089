import type { JsonObject } from "../../../domain/json.js";
import type { ReasoningEffort, ToolChoice } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { copy, messagesOf, objectOf } from "./ai-sdk-incoming-messages.js";
import type { LanguageModelV4CallOptions, SharedV4Warning } from "./ai-sdk-types.js";

/** A call of the AI SDK as a request of ours, and what of it has no place there. */
export type IncomingCall = { readonly request: ChatRequest; readonly warnings: readonly SharedV4Warning[] };

/** Decodes a call; what it holds that a model port does not know is named in a warning and left out. */
export function incomingCall(options: LanguageModelV4CallOptions, signal: AbortSignal): IncomingCall {
  const warnings: SharedV4Warning[] = [];
  const unsupported = (feature: string): void => void warnings.push({ type: "unsupported", feature });
  for (const key of ["topK", "presencePenalty", "frequencyPenalty"] as const) {
    if (options[key] !== undefined) unsupported(key);
  }
  const { responseFormat, reasoning = "provider-default", providerOptions } = options;
  if (responseFormat?.type === "json" && responseFormat.schema === undefined) unsupported("responseFormat");
  const request: ChatRequest = {
    messages: options.prompt.flatMap((message, at) => messagesOf(message, `m${at}`, unsupported)),
    tools: (options.tools ?? []).flatMap((tool) => {
      if (tool.type === "function") {
        return [
          { name: tool.name, description: tool.description ?? "", inputSchema: copy(tool.inputSchema) as JsonObject },
        ];
      }
      unsupported(`provider-defined tool ${tool.id}`);
      return [];
    }),
    options: {
      maxOutputTokens: options.maxOutputTokens,
      temperature: options.temperature,
      topP: options.topP,
      seed: options.seed,
      stopSequences: options.stopSequences,
      toolChoice: choiceOf(options.toolChoice),
      reasoningEffort: EFFORTS[reasoning],
      responseSchema:
        responseFormat?.type === "json" && responseFormat.schema !== undefined
          ? (copy(responseFormat.schema) as JsonObject)
          : undefined,
      providerOptions: objectOf(providerOptions?.["ennead"]),
    },
    signal,
    sessionId: "ai-sdk",
    turnId: "ai-sdk",
    round: 0,
  };
  return { request, warnings };
}

const EFFORTS: Readonly<Record<NonNullable<LanguageModelV4CallOptions["reasoning"]>, ReasoningEffort | undefined>> = {
  "provider-default": undefined,
  none: "off",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "maximum",
};

function choiceOf(choice: LanguageModelV4CallOptions["toolChoice"]): ToolChoice | undefined {
  return choice?.type === "tool" ? { tool: choice.toolName } : choice?.type;
}
