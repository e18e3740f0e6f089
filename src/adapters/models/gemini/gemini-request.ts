import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { ChatOptions, ReasoningEffort, ToolChoice } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import type { GeminiPart } from "./gemini-parts.js";
import { geminiSchema, takesArguments } from "./gemini-schema.js";
import { geminiEfforts, type GeminiGeneration, type GeminiThinking } from "./gemini-thinking.js";
import { type GeminiTranscriptContext, toProviderTranscript } from "./gemini-transcript.js";
import { sentChoice } from "../wire/sent-choice.js";
import { selfContained, type SendableTool, sendableTools } from "../wire/wire-schema.js";
import type { WireNames } from "../wire/wire-names.js";

/** What the body of a request depends on beside the request. */
export type GeminiBodyContext = Omit<GeminiTranscriptContext, "signed"> & {
  readonly model: string;
  readonly generation: GeminiGeneration;
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, GeminiThinking>>>;
  readonly includeThoughts: boolean | undefined;
};

/**
 * The wire's request; fields that are undefined are not sent. `providerOptions` come last and replace what stands, field by field within
 * `generationConfig`.
 */
export function geminiBody(request: ChatRequest, context: GeminiBodyContext): GeminiPart {
  const { options } = request;
  const tools = sendableTools(request.tools);
  const { names, provider, replays, generation } = context;
  const toolChoice = sentChoice(options.toolChoice, tools);
  const { generationConfig, ...others } = options.providerOptions ?? {};
  return {
    ...toProviderTranscript(request.messages, { names, provider, replays, signed: generation === 3 }),
    ...toolFields(tools, toolChoice, names),
    generationConfig: {
      ...configOf({ ...options, toolChoice }, { hasTools: tools.length > 0 }, context),
      ...(isJsonObject(generationConfig) ? generationConfig : undefined),
    },
    serviceTier: options.serviceTier,
    ...others,
  };
}

function toolFields(
  tools: readonly SendableTool[],
  choice: ToolChoice | undefined,
  names: WireNames,
): GeminiPart | undefined {
  if (tools.length === 0) return undefined;
  const functionDeclarations = tools.map(({ name, description, inputSchema }) => {
    const schema = geminiSchema(inputSchema);
    return {
      name: names.toWire(name),
      description: description === "" ? undefined : description,
      // An object that can hold nothing is refused as a schema.
      parametersJsonSchema: takesArguments(schema) ? schema : undefined,
    };
  });
  const functionCallingConfig = choice === undefined ? undefined : encodeChoice(choice, names);
  return {
    tools: [{ functionDeclarations }],
    toolConfig: functionCallingConfig === undefined ? undefined : { functionCallingConfig },
  };
}

function encodeChoice(choice: ToolChoice, names: WireNames): GeminiPart {
  if (typeof choice !== "string") return { mode: "ANY", allowedFunctionNames: [names.toWire(choice.tool)] };
  return { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice] };
}

function configOf(
  options: ChatOptions,
  { hasTools }: { readonly hasTools: boolean },
  context: GeminiBodyContext,
): GeminiPart {
  const { responseSchema, stopSequences = [], toolChoice = "auto" } = options;
  // Models before 3 refuse a request that asks for both; and a reply that must call a tool has no text to shape.
  const mayShape = !hasTools || (context.generation === 3 && (toolChoice === "auto" || toolChoice === "none"));
  return {
    temperature: options.temperature,
    topP: options.topP,
    maxOutputTokens: options.maxOutputTokens,
    stopSequences: stopSequences.length === 0 ? undefined : stopSequences,
    seed: options.seed,
    thinkingConfig: thinkingOf(options.reasoningEffort, context),
    ...(responseSchema === undefined || !mayShape ? undefined : formOf(responseSchema)),
  };
}

function formOf(schema: JsonObject): GeminiPart {
  return { responseMimeType: "application/json", responseJsonSchema: geminiSchema(selfContained(schema)) };
}

/** Nothing unless asked for: models that do not think refuse the field. */
function thinkingOf(effort: ReasoningEffort | undefined, context: GeminiBodyContext): GeminiPart | undefined {
  const { model, generation, efforts } = context;
  const thinking = effort === undefined ? undefined : { ...geminiEfforts(model, generation), ...efforts }[effort];
  const includeThoughts = context.includeThoughts ?? (effort !== undefined && effort !== "off");
  if (thinking === undefined && context.includeThoughts !== true) return undefined;
  return { ...thinking, ...(includeThoughts ? { includeThoughts } : undefined) };
}
