import { adopt } from "../../../domain/adopt.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { ModelError, SessionError } from "../../../domain/errors.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { isMessage, type Message } from "../../../domain/message.js";
import type { ChatOptions, ReasoningEffort } from "../../../domain/model.js";
import { stampStored } from "../../../domain/stamp-message.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { ChatRequest } from "../../../ports/model.js";
import { PROXY_VERSION } from "./proxy-lines.js";

/** A request as it came over the wire; the signal is the server's own. */
export type ProxyRequest = { readonly stream: boolean; readonly request: Omit<ChatRequest, "signal"> };

/** The body of a request. What a result holds for the application alone stays here. Throws like `JSON.stringify`. */
export function encodeProxyRequest(request: ChatRequest, stream: boolean): string {
  const { signal: _signal, messages, ...rest } = request;
  const sent = messages.map((message) => {
    if (message.role !== "tool" || message.details === undefined) return message;
    const { details: _details, ...shown } = message;
    return shown;
  });
  return JSON.stringify({ version: PROXY_VERSION, stream, request: { ...rest, messages: sent } });
}

/** Decodes the body of a request that anybody may have written. Rejects with `ModelError("invalid-request")` that names the place and quotes nothing. */
export function decodeProxyRequest(text: string): ProxyRequest {
  try {
    return decoded(JSON.parse(text));
  } catch (error) {
    const fault = error instanceof SessionError ? error.cause : error;
    // A SyntaxError quotes the text.
    const reason = fault instanceof TypeError ? thrownLabel(fault) : "the body is no JSON";
    throw new ModelError("invalid-request", reason, { status: 400 });
  }
}

function decoded(body: unknown): ProxyRequest {
  if (!isJsonObject(body)) throw new TypeError("the body is no object");
  const { version, stream, request } = body;
  if (version !== PROXY_VERSION) throw new TypeError(`the version is not ${PROXY_VERSION}`);
  if (typeof stream !== "boolean") throw new TypeError("stream is not a boolean");
  if (!isJsonObject(request)) throw new TypeError("request is no object");
  const { messages, tools, options, requestContext, sessionId, turnId, round } = request;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new TypeError("messages is no list with a message in it");
  if (!Array.isArray(tools)) throw new TypeError("tools is no list");
  if (requestContext !== undefined && !isJsonObject(requestContext)) throw new TypeError("requestContext is no object");
  if (typeof sessionId !== "string" || typeof turnId !== "string")
    throw new TypeError("sessionId or turnId is no text");
  if (!isCount(round)) throw new TypeError("round is no count");
  return {
    stream,
    request: {
      messages: messages.map(decodeMessage),
      tools: tools.map(decodeTool),
      options: decodeOptions(options),
      ...(requestContext === undefined ? undefined : { requestContext: adopt(requestContext, "requestContext") }),
      sessionId,
      turnId,
      round,
    },
  };
}

function decodeMessage(value: JsonObject, at: number): Message {
  const place = `messages[${at}]`;
  // As lenient as a store: what an adapter can send without, no session is to be lost for.
  const message = stampStored(value as never, "", place);
  if (!isMessage(message)) throw new TypeError(`${place} has a role that no model knows`);
  return message;
}

function decodeTool(value: unknown, at: number): ToolDef {
  const place = `tools[${at}]`;
  if (!isJsonObject(value)) throw new TypeError(`${place} is no tool`);
  const { name, description, inputSchema } = value;
  if (typeof name !== "string" || typeof description !== "string")
    throw new TypeError(`${place} has no name or description`);
  if (!isJsonObject(inputSchema)) throw new TypeError(`${place}.inputSchema is no object`);
  return adopt(value as ToolDef, place);
}

/** Only options that this version knows: whatever else a client sends goes nowhere. */
function decodeOptions(value: unknown): ChatOptions {
  if (!isJsonObject(value)) throw new TypeError("options is no object");
  const options: Record<string, unknown> = {};
  for (const [name, fits] of Object.entries(OPTIONS)) {
    const option = Object.hasOwn(value, name) ? value[name] : undefined;
    if (option === undefined) continue;
    if (!fits(option)) throw new TypeError(`options.${name} has a value that it cannot have`);
    options[name] = option;
  }
  return adopt(options as ChatOptions, "options");
}

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const EFFORTS: Readonly<Record<ReasoningEffort, true>> = {
  off: true,
  minimal: true,
  low: true,
  medium: true,
  high: true,
  xhigh: true,
  maximum: true,
};

const OPTIONS: { readonly [K in keyof Required<ChatOptions>]: (value: unknown) => boolean } = {
  model: isText,
  temperature: isNumber,
  topP: isNumber,
  maxOutputTokens: isCount,
  stopSequences: (value) => Array.isArray(value) && value.every(isText),
  seed: isNumber,
  toolChoice: (value) =>
    value === "auto" || value === "none" || value === "required" || (isJsonObject(value) && isText(value["tool"])),
  parallelToolCalls: (value) => typeof value === "boolean",
  reasoningEffort: (value) => typeof value === "string" && Object.hasOwn(EFFORTS, value),
  serviceTier: isText,
  responseSchema: isJsonObject,
  providerOptions: isJsonObject,
};
