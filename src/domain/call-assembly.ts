import { parseArguments } from "./call-arguments.js";
import { sameJson } from "./json.js";
import type { ProviderData, ToolCallPart } from "./message.js";
import type { FinishChunk, ToolCallDelta } from "./stream-chunk.js";
import type { MalformedArguments } from "./tool.js";

/** A call being put together; it grows in place. */
export type CallBlock = {
  readonly type: "toolCall";
  readonly index: number;
  id: string | undefined;
  name: string;
  raw: string;
  /** The newest piece of `raw`: looking at it does not join the pieces. */
  tail: string;
  guesses: number;
  providerData: ProviderData | undefined;
};

/** How often one call's arguments are parsed early to see whether they are complete; bounds the cost of hostile streams. */
const MAX_GUESSES = 8;

/** Sorts the deltas of one stream's tool calls into calls. Each delta costs its own length, whatever came before. */
export class CallAssembly {
  #callAt = new Map<number, CallBlock>();
  #callOf = new Map<string, CallBlock>();
  /** The call that a delta touched last. */
  #call: CallBlock | undefined;

  /** Returns the call that the delta opened, if it opened one. */
  push(chunk: ToolCallDelta): CallBlock | undefined {
    const id = chunk.id === "" ? undefined : chunk.id;
    const name = chunk.name === "" ? undefined : chunk.name;
    const piece = chunk.argumentsDelta ?? "";
    const known = this.#findCall(chunk.index, id, name, piece);
    const call = known ?? this.#openCall(chunk.index);
    this.#call = call;
    if (call.id === undefined && id !== undefined) {
      call.id = id;
      this.#callOf.set(id, call);
    }
    if (name !== undefined && name !== call.name) call.name += name;
    if (piece !== "" && !isRepeat(call, id, piece)) {
      call.raw += piece;
      call.tail = piece;
    }
    if (chunk.providerData !== undefined) call.providerData = chunk.providerData;
    return known === undefined ? call : undefined;
  }

  /** The call a delta continues; undefined where it opens one. */
  #findCall(index: number, id: string | undefined, name: string | undefined, piece: string): CallBlock | undefined {
    const current = this.#call;
    if (id === undefined && name === undefined && current?.index === index) return current;
    let call = this.#callAt.get(index);
    if (call === undefined) {
      // Some servers send a call's header and its arguments under different indexes.
      if (name !== undefined) return this.#resent(id, name, piece);
      return id === undefined ? this.#call : this.#callOf.get(id);
    }
    if (id !== undefined && call.id !== undefined && call.id !== id) {
      const known = this.#callOf.get(id);
      if (known?.index !== index) return goesOn(call, name, piece) ? call : undefined;
      call = known;
    }
    return name !== undefined && opensAnother(call, id, name, piece) ? undefined : call;
  }

  /** The call that a delta with a number of its own goes on with, where the server sends id and name with every piece. */
  #resent(id: string | undefined, name: string, piece: string): CallBlock | undefined {
    const call = id === undefined ? undefined : this.#callOf.get(id);
    if (call === undefined || call.name !== name || piece === "") return undefined;
    return call.raw === "" || (!startsObject(piece) && !isComplete(call)) ? call : undefined;
  }

  #openCall(index: number): CallBlock {
    const call: CallBlock = {
      type: "toolCall",
      index,
      id: undefined,
      name: "",
      raw: "",
      tail: "",
      guesses: 0,
      providerData: undefined,
    };
    this.#callAt.set(index, call);
    return call;
  }
}

/**
 * Some servers make up an id for every delta, with the name or without: a piece of arguments that are not complete is no new call. The
 * first piece of a new call comes without any, or with all of them.
 */
function goesOn(call: CallBlock, name: string | undefined, piece: string): boolean {
  if (piece === "" || (name !== undefined && name !== call.name)) return false;
  if (name !== undefined && call.raw === "") return !parseArguments(piece).ok;
  return !(name !== undefined && startsObject(piece)) && !isComplete(call);
}

/** True for a named delta that, on a call whose arguments are complete, can only be the next call under the same index. */
function opensAnother(call: CallBlock, id: string | undefined, name: string, piece: string): boolean {
  // A call that came without its name may be told it last.
  if (call.name === "" && id !== undefined && id === call.id) return false;
  const sameCall = name === call.name && call.id !== undefined && (id === undefined || id === call.id);
  if (sameCall && (isPlaceholder(call.raw) || repeats(call, piece))) return false;
  return (name !== call.name || startsObject(piece)) && isComplete(call);
}

/** Some servers end a call by sending all of it once more, with its id or without. */
function isRepeat(call: CallBlock, id: string | undefined, piece: string): boolean {
  return (id === undefined || id === call.id) && repeats(call, piece);
}

/** Servers that encode the arguments once more may put other blanks between them. */
function repeats(call: CallBlock, piece: string): boolean {
  if (piece === call.raw) return isComplete(call);
  if (!startsObject(piece) || !isComplete(call)) return false;
  const whole = parseArguments(withoutPlaceholder(call.raw));
  const again = parseArguments(piece);
  const isExact = whole.ok && again.ok && whole.raw === undefined && again.raw === undefined;
  return isExact && sameJson(whole.value, again.value);
}

function startsObject(piece: string): boolean {
  return piece.trimStart().startsWith("{");
}

function isComplete(call: CallBlock): boolean {
  if (call.guesses === MAX_GUESSES || !call.tail.trimEnd().endsWith("}")) return false;
  call.guesses += 1;
  return parseArguments(withoutPlaceholder(call.raw)).ok;
}

function isPlaceholder(raw: string): boolean {
  // The length first: to look into a long text joins its pieces, which would cost its length at every delta.
  return raw.length < 16 && /^\s*\{\s*\}\s*$/.test(raw);
}

/** Some servers send an empty object first, and the arguments after it. */
function withoutPlaceholder(raw: string): string {
  return raw.replace(/^\s*\{\s*\}\s*(?=\{)/, "");
}

/** The call as a part of the reply; without `finish` it is not over, and marked malformed like any broken one. */
export function callPart(block: CallBlock, finish: FinishChunk | undefined): ToolCallPart {
  const call = { type: "toolCall", id: block.id ?? `call_${block.index}`, name: block.name } as const;
  const extras = block.providerData === undefined ? undefined : { providerData: block.providerData };
  const parsed = parseCall(block, finish);
  if ("reason" in parsed) return { ...call, arguments: {}, malformed: parsed, ...extras };
  return { ...call, ...parsed, ...extras };
}

function parseCall(
  block: CallBlock,
  finish: FinishChunk | undefined,
): MalformedArguments | Pick<ToolCallPart, "arguments" | "raw"> {
  const { raw, name } = block;
  if (finish === undefined) return { raw, reason: "the stream has not reached the end of the call" };
  if (name === "") return { raw, reason: "the call has no name" };
  // Nothing at all stands for no arguments only where the model came to its end: else nobody knows what was still to come.
  const cut = raw.trim() === "" && finish.reason !== "stop" && finish.reason !== "tool-calls";
  const parsed = cut
    ? ({ ok: false, reason: "the arguments were cut off" } as const)
    : parseArguments(withoutPlaceholder(raw));
  if (!parsed.ok) return { raw, reason: parsed.reason };
  return parsed.raw === undefined ? { arguments: parsed.value } : { arguments: parsed.value, raw: parsed.raw };
}
