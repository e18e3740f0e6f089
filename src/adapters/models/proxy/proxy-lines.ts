import { ModelError, type ModelErrorDetails, type ModelErrorKind } from "../../../domain/errors.js";
import { decodeFinishReason } from "../../../domain/finish-reason.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { AssistantPart } from "../../../domain/message.js";
import type { ModelResponse } from "../../../domain/model.js";
import { listFault, optionalText, replyPartFault } from "../../../domain/part-shape.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { decodeUsage } from "../../../domain/usage.js";
import { detailsOf, textOfError } from "../decorators/model-error-with.js";
import { ModelFailure } from "../wire/model-failure.js";
import { decodeJson, fieldOf, textField } from "../wire/wire-json.js";

/** Of requests and of replies. */
export const PROXY_VERSION = 1;
/** A reply: this line, then chunks, each a line of JSON, then one line `done {}` or `error {}`. Blank lines mean nothing. */
export const FIRST_LINE = `ennead-model ${PROXY_VERSION}`;
/** The content type of a reply. */
export const PROXY_TYPE = "text/x-ennead-model; charset=utf-8";

/** What a failed call tells the client; the text is that of the server's own error. */
export type ToldError = Omit<ModelErrorDetails, "cause" | "partial"> & {
  readonly kind: ModelErrorKind;
  readonly message: string;
};

/** What the last line of a success adds to the chunks. `parts` is there where the chunks do not add up to the reply. */
export type Done = Omit<ModelResponse, "parts"> & { readonly parts?: readonly AssistantPart[] };

export type ProxyLine =
  | { readonly type: "chunk"; readonly chunk: StreamChunk }
  | { readonly type: "done"; readonly done: Done }
  | { readonly type: "error"; readonly error: ToldError }
  | { readonly type: "nothing" };

/** One line, without its end. JSON text holds no line feed. */
export function chunkLine(chunk: StreamChunk): string {
  return JSON.stringify(chunk);
}

export function doneLine({ finishReason: reason, rawFinishReason: rawReason, ...rest }: Done): string {
  const { usage, model, provider, parts } = rest;
  return `done ${JSON.stringify({ reason, rawReason, usage, model, provider, parts })}`;
}

export function errorLine(error: ToldError): string {
  return `error ${JSON.stringify(error)}`;
}

/** What a client is told of a failure: of one that is no `ModelError` only that there was one. */
export function toldError(error: unknown): ToldError {
  if (!(error instanceof ModelError)) return { kind: "server", message: "the call failed", retryable: false };
  const { partial: _partial, ...details } = detailsOf(error);
  return { kind: error.kind, message: textOfError(error), ...details };
}

/** Decodes any line but the first. Chunks and lines of a later version are nothing; what is malformed throws `ModelFailure`. */
export function decodeLine(line: string): ProxyLine {
  if (line.startsWith("{")) return decodeChunk(decodeJson(line));
  if (line.startsWith("done ")) return { type: "done", done: decodeDone(decodeJson(line.slice("done ".length))) };
  if (line.startsWith("error ")) {
    const error = decodeToldError(decodeJson(line.slice("error ".length)));
    if (error !== undefined) return { type: "error", error };
    throw malformed();
  }
  return { type: "nothing" };
}

function decodeChunk(value: unknown): ProxyLine {
  if (!isJsonObject(value) || typeof value["type"] !== "string") throw malformed();
  const faultOf = CHUNKS[value["type"] as StreamChunk["type"]];
  if (!Object.hasOwn(CHUNKS, value["type"])) return { type: "nothing" };
  if (faultOf(value)) throw malformed();
  if (value["type"] === "usage") return { type: "chunk", chunk: { type: "usage", usage: decodeUsage(value["usage"]) } };
  return { type: "chunk", chunk: value as unknown as StreamChunk };
}

/** Whether something is wrong with a chunk of each type. */
const CHUNKS: { readonly [T in StreamChunk["type"]]: (chunk: JsonObject) => boolean } = {
  textDelta: isNoDelta,
  reasoningDelta: (chunk) => isNoDelta(chunk) || optionalText(chunk, "signature") !== undefined,
  toolCallDelta: (chunk) =>
    !Number.isInteger(chunk["index"]) ||
    ["id", "name", "argumentsDelta"].some((field) => optionalText(chunk, field) !== undefined),
  usage: ({ usage }) => !isJsonObject(usage),
  finish: (chunk) =>
    decodeFinishReason(chunk["reason"]) !== chunk["reason"] || optionalText(chunk, "rawReason") !== undefined,
  reset: ({ reason }) => typeof reason !== "string",
};

function isNoDelta({ text, part }: JsonObject): boolean {
  return typeof text !== "string" || (part !== undefined && !Number.isInteger(part));
}

function decodeDone(value: unknown): Done {
  if (!isJsonObject(value)) throw malformed();
  const parts = fieldOf(value, "parts");
  if (parts !== undefined && listFault(parts, replyPartFault) !== undefined) throw malformed();
  const [rawReason, model, provider] = [
    textField(value, "rawReason"),
    textField(value, "model"),
    textField(value, "provider"),
  ];
  const usage = fieldOf(value, "usage");
  return {
    finishReason: decodeFinishReason(value["reason"]),
    ...(rawReason === undefined ? undefined : { rawFinishReason: rawReason }),
    ...(usage === undefined ? undefined : { usage: decodeUsage(usage) }),
    ...(model === undefined ? undefined : { model }),
    ...(provider === undefined ? undefined : { provider }),
    ...(parts === undefined ? undefined : { parts: parts as readonly AssistantPart[] }),
  };
}

const KINDS: { readonly [K in ModelErrorKind]: true } = {
  "request-build": true,
  transport: true,
  "response-parse": true,
  "rate-limit": true,
  auth: true,
  "context-overflow": true,
  overloaded: true,
  "content-filter": true,
  timeout: true,
  aborted: true,
  "invalid-request": true,
  server: true,
};

/** The error of a last line or of a refusal; undefined where the value is none of ours. */
export function decodeToldError(value: unknown): ToldError | undefined {
  const kind = textField(value, "kind");
  if (kind === undefined) return undefined;
  const usage = fieldOf(value, "usage");
  const retryable = fieldOf(value, "retryable");
  return {
    // A kind of a later version is a failure on the other side all the same.
    kind: Object.hasOwn(KINDS, kind) ? (kind as ModelErrorKind) : "server",
    message: textField(value, "message") ?? "",
    status: numberField(value, "status"),
    retryAfterMs: numberField(value, "retryAfterMs"),
    provider: textField(value, "provider"),
    requestId: textField(value, "requestId"),
    toolName: textField(value, "toolName"),
    usage: usage === undefined ? undefined : decodeUsage(usage),
    retryable: typeof retryable === "boolean" ? retryable : undefined,
  };
}

function numberField(value: unknown, key: string): number | undefined {
  const field = fieldOf(value, key);
  return typeof field === "number" ? field : undefined;
}

function malformed(): ModelFailure {
  return new ModelFailure("response-parse", "a line of the proxy's reply is malformed");
}
