import type { JsonObject } from "../../../domain/json.js";
import type { ReasoningEffort, ToolChoice } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { providerOptionsOf, toProviderTranscript } from "./ai-sdk-prompt.js";
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
} from "./ai-sdk-types.js";
import { sentChoice } from "../wire/sent-choice.js";
import { sendableTools } from "../wire/wire-schema.js";
import type { WireNames } from "../wire/wire-names.js";

/** The word spec v4 has for each effort; the provider makes of it what its model knows. Spec v3 has none. */
export const AI_SDK_EFFORTS: Readonly<Record<ReasoningEffort, NonNullable<LanguageModelV4CallOptions["reasoning"]>>> =
  Object.freeze({
    off: "none",
    minimal: "minimal",
    low: "low",
    medium: "medium",
    high: "high",
    xhigh: "xhigh",
    maximum: "max",
  });

/** What a call depends on beside the request. */
export type AiSdkCallContext = {
  readonly names: WireNames;
  readonly provider: string;
  readonly replays: boolean;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly providerOptions: JsonObject | undefined;
  /** Provider options that stand for an effort, instead of the spec's word. */
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, JsonObject>>>;
};

/** The call in the words of spec v4. Provider options add up field by field: of the adapter, of the effort, of the request. */
export function callOptions(request: ChatRequest, context: AiSdkCallContext): LanguageModelV4CallOptions {
  const { options } = request;
  const { reasoningEffort: effort, responseSchema, stopSequences, maxOutputTokens, temperature, topP, seed } = options;
  const ownEffort = effort === undefined ? undefined : context.efforts[effort];
  const providerOptions = merged([context.providerOptions, ownEffort, options.providerOptions]);
  return {
    prompt: toProviderTranscript(request.messages, context),
    abortSignal: context.signal,
    ...(maxOutputTokens === undefined ? undefined : { maxOutputTokens }),
    ...(temperature === undefined ? undefined : { temperature }),
    ...(topP === undefined ? undefined : { topP }),
    ...(seed === undefined ? undefined : { seed }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? undefined : { stopSequences: [...stopSequences] }),
    ...(responseSchema === undefined
      ? undefined
      : { responseFormat: { type: "json", schema: schemaOf(responseSchema) } }),
    ...(effort === undefined || ownEffort !== undefined ? undefined : { reasoning: AI_SDK_EFFORTS[effort] }),
    ...toolFields(request, context.names),
    ...(context.headers === undefined ? undefined : { headers: { ...context.headers } }),
    ...(providerOptions === undefined ? undefined : { providerOptions }),
  };
}

function toolFields(
  request: ChatRequest,
  names: WireNames,
): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> | undefined {
  const tools = sendableTools(request.tools);
  if (tools.length === 0) return undefined;
  const toolChoice = sentChoice(request.options.toolChoice, tools);
  return {
    tools: tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      name: names.toWire(name),
      description,
      inputSchema: schemaOf(inputSchema),
    })),
    ...(toolChoice === undefined ? undefined : { toolChoice: choiceOf(toolChoice, names) }),
  };
}

function choiceOf(choice: ToolChoice, names: WireNames): LanguageModelV4ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: names.toWire(choice.tool) };
}

/** A copy: the SDK's type lets the provider change it. */
function schemaOf(schema: JsonObject): JSONSchema7 {
  return structuredClone(schema) as JSONSchema7;
}

function merged(list: readonly (JsonObject | undefined)[]): SharedV4ProviderOptions | undefined {
  const sum: SharedV4ProviderOptions = {};
  for (const options of list) {
    for (const [provider, fields] of Object.entries(providerOptionsOf(options) ?? {})) {
      sum[provider] = { ...sum[provider], ...fields };
    }
  }
  return Object.keys(sum).length === 0 ? undefined : sum;
}
