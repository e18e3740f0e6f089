import type { JsonObject } from "../../../domain/json.js";
import type { ReasoningEffort, ToolChoice } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { type ChatTranscriptContext, toProviderTranscript } from "./openai-chat-transcript.js";
import { type CacheLifetime, withBreakpoints } from "../openai/openai-cache.js";
import type { WireObject } from "../openai/openai-parts.js";
import { sentChoice } from "../wire/sent-choice.js";
import { isStrict } from "../openai/strict-schema.js";
import { withoutUnionOnTop } from "../wire/union-on-top.js";
import type { WireNames } from "../wire/wire-names.js";
import { healedSchema, selfContained, sendableTools } from "../wire/wire-schema.js";

/** The word this wire has for each effort; `maximum` is the highest that more than one server knows. The `efforts` option names others. */
export const CHAT_EFFORTS: Readonly<Record<ReasoningEffort, string>> = Object.freeze({
  off: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  maximum: "xhigh",
});

/** What the body of a request depends on beside the request. */
export type BodyContext = ChatTranscriptContext & {
  readonly model: string;
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly streamUsage: boolean;
  readonly cacheKey?: string | undefined;
  readonly cache?: CacheLifetime | undefined;
};

/** The wire's request; fields that are undefined are not sent. `providerOptions` come last and replace what stands. */
export function chatBody(request: ChatRequest, stream: boolean, context: BodyContext): WireObject {
  const { options } = request;
  const effort = options.reasoningEffort;
  return {
    model: options.model ?? context.model,
    messages: withBreakpoints(toProviderTranscript(request.messages, context), context.cache),
    stream,
    stream_options: stream && context.streamUsage ? { include_usage: true } : undefined,
    ...toolFields(request, context.names),
    temperature: options.temperature,
    top_p: options.topP,
    [context.maxTokensField]: options.maxOutputTokens,
    stop: options.stopSequences === undefined || options.stopSequences.length === 0 ? undefined : options.stopSequences,
    seed: options.seed,
    reasoning_effort: effort === undefined ? undefined : context.efforts[effort],
    service_tier: options.serviceTier,
    response_format: options.responseSchema === undefined ? undefined : responseFormat(options.responseSchema),
    prompt_cache_key: context.cacheKey,
    ...options.providerOptions,
  };
}

function toolFields(request: ChatRequest, names: WireNames): WireObject {
  const tools = sendableTools(request.tools);
  if (tools.length === 0) return {};
  const { parallelToolCalls } = request.options;
  const choice = sentChoice(request.options.toolChoice, tools);
  return {
    tools: tools.map((tool) => ({
      type: "function",
      function: {
        name: names.toWire(tool.name),
        description: tool.description,
        parameters: withoutUnionOnTop(tool.inputSchema),
      },
    })),
    tool_choice: choice === undefined ? undefined : encodeChoice(choice, names),
    parallel_tool_calls: parallelToolCalls,
  };
}

function encodeChoice(choice: ToolChoice, names: WireNames): unknown {
  if (typeof choice === "string") return choice;
  return { type: "function", function: { name: names.toWire(choice.tool) } };
}

function responseFormat(responseSchema: JsonObject): WireObject {
  const schema = healedSchema(selfContained(responseSchema));
  return { type: "json_schema", json_schema: { name: "response", schema, strict: isStrict(schema) } };
}
