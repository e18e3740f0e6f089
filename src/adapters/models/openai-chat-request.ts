import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { ReasoningEffort, ToolChoice } from "../../domain/model.js";
import type { ToolDef } from "../../domain/tool.js";
import type { ChatRequest } from "../../ports/model.js";
import { type EncodingContext, encodeMessages, type WireObject } from "./openai-chat-messages.js";
import type { WireNames } from "./wire-names.js";

/** The word this wire has for each effort; `maximum` is its top tier. Servers with fewer tiers are told so by the `efforts` option. */
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
export type BodyContext = EncodingContext & {
  readonly model: string;
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly streamUsage: boolean;
};

/** The wire's request; fields that are undefined are not sent. `providerOptions` come last and replace what stands. */
export function chatBody(request: ChatRequest, stream: boolean, context: BodyContext): WireObject {
  const { options } = request;
  const effort = options.reasoningEffort;
  return {
    model: options.model ?? context.model,
    messages: encodeMessages(request.messages, context),
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
    ...options.providerOptions,
  };
}

/** The tools in the order in which they are sent; one whose schema cannot describe an object is left out. */
export function sendableTools(tools: readonly ToolDef[]): readonly ToolDef[] {
  return tools.filter(({ inputSchema }) => objectSchema(inputSchema) !== undefined);
}

function toolFields(request: ChatRequest, names: WireNames): WireObject {
  const tools = sendableTools(request.tools);
  if (tools.length === 0) return {};
  const { toolChoice, parallelToolCalls } = request.options;
  return {
    tools: tools.map((tool) => ({
      type: "function",
      function: {
        name: names.toWire(tool.name),
        description: tool.description,
        parameters: objectSchema(tool.inputSchema),
      },
    })),
    tool_choice: toolChoice === undefined ? undefined : encodeChoice(toolChoice, names),
    parallel_tool_calls: parallelToolCalls,
  };
}

function encodeChoice(choice: ToolChoice, names: WireNames): unknown {
  return typeof choice === "string" ? choice : { type: "function", function: { name: names.toWire(choice.tool) } };
}

/** A schema providers take for the parameters of a function: its type is "object", and it lists its properties. */
function objectSchema(schema: unknown): JsonObject | undefined {
  if (!isJsonObject(schema)) return { type: "object", properties: {} };
  const type = schema["type"];
  const isObject = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  if (!isObject) return undefined;
  const known = type === "object" && Object.hasOwn(schema, "properties");
  return known ? schema : { properties: {}, ...schema, type: "object" };
}

function responseFormat(schema: JsonObject): WireObject {
  return { type: "json_schema", json_schema: { name: "response", schema, strict: isStrict(schema) } };
}

/** True where providers can enforce a schema to the letter: every object is closed and requires all its properties. */
function isStrict(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isJsonObject(schema)) return true;
  const properties = schema["properties"];
  if (isJsonObject(properties)) {
    const required = schema["required"];
    const all = Array.isArray(required) && Object.keys(properties).every((key) => required.includes(key));
    if (schema["additionalProperties"] !== false || !all) return false;
    if (!Object.values(properties).every(isStrict)) return false;
  }
  return Object.entries(schema).every(([key, value]) => key === "properties" || isStrict(value));
}
