import type { ReasoningEffort } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { type CacheTime, withBreakpoints } from "./anthropic-cache.js";
import { replySchema } from "./anthropic-schema.js";
import { type AnthropicEffort, effortFields, isThinking } from "./anthropic-thinking.js";
import { forcesCall, toolFields } from "./anthropic-tools.js";
import { type ModelTraits, traitsOf } from "./anthropic-traits.js";
import { toProviderTranscript, type WireMessage } from "./anthropic-transcript.js";
import type { WireNames } from "../wire/wire-names.js";
import { selfContained } from "../wire/wire-schema.js";

/** What the body of a request depends on beside the request. */
export type BodyContext = {
  readonly names: WireNames;
  readonly model: string;
  readonly provider: string;
  readonly cache: CacheTime;
  readonly display: "summarized" | "omitted";
  readonly thinking: ModelTraits["thinking"] | undefined;
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, AnthropicEffort>>>;
  readonly maxOutputTokens: number | undefined;
  /** False leaves out the reasoning of earlier replies. */
  readonly reasoning: boolean;
};

type WireBody = { readonly [key: string]: unknown };

/** The wire's request; fields that are undefined are not sent. `providerOptions` come last and replace what stands. */
export function anthropicBody(request: ChatRequest, stream: boolean, context: BodyContext): WireBody {
  const { options } = request;
  const model = options.model ?? context.model;
  const found = traitsOf(model);
  const traits = context.thinking === undefined ? found : { ...found, thinking: context.thinking };
  const mayPrefill = traits.prefill && (options.reasoningEffort ?? "off") === "off";
  const { system, messages } = toProviderTranscript(request.messages, { ...context, prefill: mayPrefill });
  const tools = toolFields(request, context.names, messages);
  const maxTokens = options.maxOutputTokens ?? context.maxOutputTokens ?? traits.maxTokens;
  const effort = effortFields(options.reasoningEffort, {
    ...context,
    traits,
    maxTokens,
    forcesCall: forcesCall(tools),
    goesOnThinking: goesOnThinking(messages),
  });
  const kept = withBreakpoints({ tools: tools.tools, system, messages }, context.cache);
  return {
    model,
    max_tokens: maxTokens,
    stream,
    system: kept.system.length === 0 ? undefined : kept.system,
    messages: kept.messages,
    tools: kept.tools,
    tool_choice: tools.tool_choice,
    ...samplingFields(request, traits, effort),
    stop_sequences: stopSequences(options.stopSequences),
    service_tier: options.serviceTier,
    thinking: effort.thinking,
    output_config: outputConfig(request, traits, effort),
    ...options.providerOptions,
  };
}

/** A model that thinks with a budget does so from the beginning of its reply, calls and results in it included, or not at all. */
function goesOnThinking(messages: readonly WireMessage[]): boolean {
  const isResult = messages.at(-1)?.content.some(({ type }) => type === "tool_result") ?? false;
  const first = messages.at(-2)?.content[0]?.type;
  return !isResult || first === "thinking" || first === "redacted_thinking";
}

/** Newer models, and those that think, refuse to be told how to sample; the others take one of both, and a temperature up to 1. */
function samplingFields({ options }: ChatRequest, traits: ModelTraits, effort: AnthropicEffort): WireBody {
  if (!traits.sampling || isThinking(effort)) return {};
  const { temperature, topP } = options;
  if (temperature === undefined) return { top_p: topP };
  return { temperature: Math.min(Math.max(temperature, 0), 1) };
}

function stopSequences(sequences: readonly string[] = []): readonly string[] | undefined {
  const accepted = sequences.filter((text) => text.trim() !== "");
  return accepted.length === 0 ? undefined : accepted;
}

function outputConfig({ options }: ChatRequest, traits: ModelTraits, { effort }: AnthropicEffort): unknown {
  const { responseSchema } = options;
  const schema = traits.schemas ? responseSchema : undefined;
  const format = schema === undefined ? undefined : { type: "json_schema", schema: replySchema(selfContained(schema)) };
  return effort === undefined && format === undefined ? undefined : { effort, format };
}
