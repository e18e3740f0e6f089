import type { JsonObject } from "../../../domain/json.js";
import type { ReasoningEffort, ToolChoice } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { type CacheLifetime, withBreakpoints } from "../openai/openai-cache.js";
import type { WireObject } from "../openai/openai-parts.js";
import { type ResponsesTranscriptContext, toProviderTranscript } from "./openai-responses-transcript.js";
import { sentChoice } from "../wire/sent-choice.js";
import { isStrict } from "../openai/strict-schema.js";
import { withoutUnionOnTop } from "../wire/union-on-top.js";
import type { WireNames } from "../wire/wire-names.js";
import { healedSchema, selfContained, sendableTools } from "../wire/wire-schema.js";

/** The word this wire has for each effort; `maximum` is its top tier. Models with fewer tiers are told so by the `efforts` option. */
export const RESPONSES_EFFORTS: Readonly<Record<ReasoningEffort, string>> = Object.freeze({
  off: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  maximum: "max",
});

/** What the body of a request depends on beside the request. */
export type ResponsesBodyContext = ResponsesTranscriptContext & {
  readonly model: string;
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;
  readonly summary: "auto" | "concise" | "detailed" | undefined;
  readonly cacheKey: string | undefined;
  readonly cache: CacheLifetime | undefined;
};

/** The wire's request; fields that are undefined are not sent. `providerOptions` come last and replace what stands. */
export function responsesBody(request: ChatRequest, stream: boolean, context: ResponsesBodyContext): WireObject {
  const { options } = request;
  return {
    model: options.model ?? context.model,
    input: withBreakpoints(toProviderTranscript(request.messages, context), context.cache),
    stream,
    store: false,
    include: context.replaysReasoning ? ["reasoning.encrypted_content"] : undefined,
    ...toolFields(request, context.names),
    temperature: options.temperature,
    top_p: options.topP,
    max_output_tokens: options.maxOutputTokens,
    reasoning: reasoningField(options.reasoningEffort, context),
    service_tier: options.serviceTier,
    text: options.responseSchema === undefined ? undefined : { format: textFormat(options.responseSchema) },
    prompt_cache_key: context.cacheKey,
    ...options.providerOptions,
  };
}

function reasoningField(effort: ReasoningEffort | undefined, context: ResponsesBodyContext): WireObject | undefined {
  const word = effort === undefined ? undefined : context.efforts[effort];
  return word === undefined && context.summary === undefined ? undefined : { effort: word, summary: context.summary };
}

function toolFields(request: ChatRequest, names: WireNames): WireObject {
  const tools = sendableTools(request.tools);
  if (tools.length === 0) return {};
  const { parallelToolCalls } = request.options;
  const choice = sentChoice(request.options.toolChoice, tools);
  return {
    tools: tools.map((tool) => ({
      type: "function",
      name: names.toWire(tool.name),
      description: tool.description,
      parameters: withoutUnionOnTop(tool.inputSchema),
      // Where it is missing this wire rewrites the schema to enforce it, and refuses what it cannot rewrite.
      strict: false,
    })),
    tool_choice: choice === undefined ? undefined : encodeChoice(choice, names),
    parallel_tool_calls: parallelToolCalls,
  };
}

function encodeChoice(choice: ToolChoice, names: WireNames): unknown {
  if (typeof choice === "string") return choice;
  return { type: "function", name: names.toWire(choice.tool) };
}

function textFormat(responseSchema: JsonObject): WireObject {
  const schema = healedSchema(selfContained(responseSchema));
  return { type: "json_schema", name: "response", schema, strict: isStrict(schema) };
}
