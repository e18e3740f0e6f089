import { isJsonObject } from "../../../domain/json.js";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage } from "../../../domain/message.js";
import { encodeContent, encodeResult, type GeminiPart, isBlank } from "./gemini-parts.js";
import { legalTranscript } from "../wire/legal-transcript.js";
import { losslessJson } from "../wire/lossless-json.js";
import { decodeJson, textField } from "../wire/wire-json.js";
import type { WireNames } from "../wire/wire-names.js";

/** One turn of the wire's conversation. */
export type GeminiContent = { readonly role: "user" | "model"; readonly parts: readonly GeminiPart[] };

/** A conversation as this wire takes it. */
export type GeminiTranscript = {
  readonly systemInstruction?: { readonly parts: readonly GeminiPart[] };
  readonly contents: readonly GeminiContent[];
};

/** What the form of a conversation depends on beside its messages. */
export type GeminiTranscriptContext = {
  readonly names: WireNames;
  /** Replies of other providers keep their reasoning and signatures to themselves. */
  readonly provider: string;
  /** False leaves out all thoughts and signatures, where the provider has refused one. */
  readonly replays: boolean;
  /** The model refuses a call without a signature, and reads files inside of function responses. */
  readonly signed: boolean;
};

/** What the provider's documentation says to send for a call whose signature nobody has. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** What is sent where the wire demands a user's turn and there is none. */
const NO_TURN = "(no message)";

/**
 * Messages in the form the provider accepts, whatever was stored: user and model take turns and a user begins; all results of a turn's
 * calls follow it in order, in one turn that holds nothing else; no empty turn or part. Instructions before the conversation become the system
 * instruction, later ones text of the user. Pure; leaves out what has no place on this wire.
 */
export function toProviderTranscript(messages: readonly Message[], context: GeminiTranscriptContext): GeminiTranscript {
  const turns = new Turns();
  const instructions: GeminiPart[] = [];
  let began = false;
  const legal = legalTranscript(messages, { emptyText: "keep" });
  for (const [at, message] of legal.entries()) {
    if (message.role === "system" && !began) {
      instructions.push(...message.content.flatMap((part) => (part.type === "text" ? textParts(part.text) : [])));
      continue;
    }
    began = true;
    if (message.role === "system") turns.add("user", inMiddle(encodeContent(message.content)));
    else if (message.role === "user") turns.add("user", encodeContent(message.content));
    else if (message.role === "assistant") addReply(turns, message, resultsAfter(legal, at), context);
  }
  const contents = turns.contents();
  return instructions.length === 0 ? { contents } : { systemInstruction: { parts: instructions }, contents };
}

type Speaker = "user" | "model" | "results";

/**
 * Puts parts into turns, the user's first. Results are sent in the user's name, but never in one turn with what the user says: newer
 * models refuse the mixture, older ones lose the text.
 */
class Turns {
  readonly #turns: { speaker: Speaker; parts: GeminiPart[] }[] = [];

  add(speaker: Speaker, parts: readonly GeminiPart[]): void {
    if (parts.length === 0) return;
    const last = this.#turns.at(-1);
    if (last === undefined && speaker === "model") this.add("user", [{ text: NO_TURN }]);
    if (last?.speaker === speaker) last.parts.push(...parts);
    else this.#turns.push({ speaker, parts: [...parts] });
  }

  contents(): readonly GeminiContent[] {
    if (this.#turns.length === 0) this.add("user", [{ text: NO_TURN }]);
    return this.#turns.map(({ speaker, parts }) => ({ role: speaker === "model" ? "model" : "user", parts }));
  }
}

function textParts(text: string): readonly GeminiPart[] {
  return isBlank(text) ? [] : [{ text }];
}

/** The wire has no role for an instruction in the middle of a conversation. */
function inMiddle(parts: readonly GeminiPart[]): readonly GeminiPart[] {
  return parts.map((part) => (typeof part["text"] === "string" ? { text: `<system>${part["text"]}</system>` } : part));
}

function resultsAfter(messages: readonly Message[], at: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let next = at + 1; messages[next]?.role === "tool"; next++) results.push(messages[next] as ToolMessage);
  return results;
}

function addReply(
  turns: Turns,
  message: AssistantMessage,
  results: readonly ToolMessage[],
  context: GeminiTranscriptContext,
): void {
  const own = message.provider === undefined || message.provider === context.provider;
  const replays = own && context.replays;
  const calls: CallForm[] = [];
  const parts: GeminiPart[] = [];
  for (const part of message.parts) {
    const signature = replays ? textField(part.providerData, "thoughtSignature") : undefined;
    const extras = signature === undefined ? undefined : { thoughtSignature: signature };
    if (part.type === "toolCall") {
      const call = formOf(part, own, context);
      const missing = calls.length === 0 && signature === undefined && context.signed;
      calls.push(call);
      parts.push(encodeCall(part, call, missing ? { thoughtSignature: NO_SIGNATURE } : extras));
    } else if (part.type === "text") {
      if (part.text !== "" || extras !== undefined) parts.push({ text: part.text, ...extras });
    } else if (part.type === "reasoning" && replays && part.redacted !== true) {
      if (part.text !== "" || extras !== undefined) parts.push({ text: part.text, thought: true, ...extras });
    }
  }
  if (calls.length === 0 && parts.every(saysNothing)) return;
  turns.add("model", parts);
  const encoded = results.map((result, order) => encodeResult(result, calls[order] ?? { name: "unknown" }, context));
  turns.add(
    "results",
    encoded.map(({ response }) => response),
  );
  turns.add(
    "user",
    encoded.flatMap(({ attachments }) => attachments),
  );
}

/** How a call is named in the request, and in its response. */
type CallForm = { readonly id?: string; readonly name: string };

/** An id goes back only where the provider gave one: models that give none do not know the field. */
function formOf(call: ToolCallPart, own: boolean, { names }: GeminiTranscriptContext): CallForm {
  const name = names.toWire(call.name);
  return own && textField(call.providerData, "id") !== undefined ? { id: call.id, name } : { name };
}

function encodeCall(call: ToolCallPart, form: CallForm, extras: GeminiPart | undefined): GeminiPart {
  return { functionCall: { ...form, args: argumentsOf(call) }, ...extras };
}

/** Always an object, its numbers with the digits they came with: a session written by an older version may hold anything. */
function argumentsOf(call: ToolCallPart): unknown {
  const exact = typeof call.raw === "string" ? losslessJson(call.raw) : undefined;
  if (isJsonObject(exact)) return exact;
  const args: unknown = typeof call.arguments === "string" ? decodeJson(call.arguments) : call.arguments;
  return isJsonObject(args) ? args : {};
}

/** A turn of nothing but blanks is no turn. */
function saysNothing(part: GeminiPart): boolean {
  return isBlank(String(part["text"])) && part["thoughtSignature"] === undefined;
}
