import fc, { type Arbitrary } from "fast-check";
import type { JsonObject } from "../../domain/json.js";
import type { AssistantPart } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { anyJsonObject, anyText, anyWord } from "./any-text.js";

/** The chunks of one model call, and the response they add up to. */
export type AnyStream = { readonly chunks: readonly StreamChunk[]; readonly response: ModelResponse };

/** What is wrong with a stream: it has no end, or one of its calls has arguments that are cut or no object, or no name. */
export type StreamFault = "no-finish" | "cut-arguments" | "no-object" | "no-name";

/** A stream that is no response, or holds a call that may not run. */
export type AnyBrokenStream = { readonly chunks: readonly StreamChunk[]; readonly fault: StreamFault };

type Block =
  | { readonly type: "text" | "reasoning"; readonly body: string; readonly signature?: string }
  | { readonly type: "call"; readonly name: string; readonly args: JsonObject };

type Plan = {
  readonly blocks: readonly Block[];
  /** Where the text of each block is cut, from 0 to 1. */
  readonly cuts: readonly number[];
  /** From which block the next chunk comes, once each has begun. */
  readonly picks: readonly number[];
  readonly voided: readonly string[];
  readonly usage: boolean;
};

const plan = (minCalls: number): Arbitrary<Plan> => {
  const spoken = fc.oneof(
    { withCrossShrink: true },
    fc.record({ type: fc.constant("text" as const), body: anyText() }),
    fc.record({ type: fc.constant("reasoning" as const), body: anyText() }),
    fc.record({ type: fc.constant("reasoning" as const), body: anyText(), signature: anyWord() }),
  );
  const call = fc.record({ type: fc.constant("call" as const), name: anyWord(), args: anyJsonObject() });
  const block: Arbitrary<Block> = fc.oneof({ withCrossShrink: true }, { weight: 2, arbitrary: spoken }, call);
  const calls: Arbitrary<readonly Block[]> = fc.array(call, { minLength: minCalls, maxLength: minCalls });
  return fc.record({
    blocks: fc.tuple(fc.array(block, { maxLength: 4 }), calls).map((lists) => lists.flat()),
    cuts: fc.array(
      fc.integer({ min: 0, max: 100 }).map((n) => n / 100),
      { maxLength: 4 },
    ),
    picks: fc.array(fc.nat(5), { maxLength: 12 }),
    voided: fc.array(anyText(), { maxLength: 2 }),
    usage: fc.boolean(),
  });
};

/**
 * Legal streams: text, reasoning and calls, cut anywhere, their chunks mixed as parallel blocks are, now and then behind an attempt that a reset
 * voids. Shrinks to whole blocks one after the other.
 */
export function anyStream(): Arbitrary<AnyStream> {
  return plan(0).map((made) => ({ chunks: [...chunksOf(made), finishOf(made)], response: responseOf(made) }));
}

/** Streams with one fault each; everything else about them is legal. */
export function anyBrokenStream(): Arbitrary<AnyBrokenStream> {
  const fault = fc.constantFrom<StreamFault>("no-finish", "cut-arguments", "no-object", "no-name");
  return fc.tuple(plan(1), fault).map(([made, what]) => ({ chunks: broken(made, what), fault: what }));
}

function broken(made: Plan, fault: StreamFault): StreamChunk[] {
  const chunks = chunksOf({ ...made, picks: [] });
  if (fault === "no-finish") return chunks;
  const index = made.blocks.length - 1;
  const others = chunks.filter((chunk) => !(chunk.type === "toolCallDelta" && chunk.index === index));
  const [name, text] = FAULTY[fault];
  const call: StreamChunk[] = [
    { type: "toolCallDelta", index, id: `c${index}`, ...(name === "" ? {} : { name }) },
    { type: "toolCallDelta", index, argumentsDelta: text },
  ];
  return [...others, ...call, finishOf(made)];
}

const FAULTY: Readonly<Record<Exclude<StreamFault, "no-finish">, readonly [name: string, text: string]>> = {
  "cut-arguments": ["a", '{"a":[1'],
  "no-object": ["a", "[1]"],
  "no-name": ["", "{}"],
};

function chunksOf({ blocks, cuts, picks, voided, usage }: Plan): StreamChunk[] {
  const queues = blocks.map((block, index) => blockChunks(block, index, cuts));
  const mixed: StreamChunk[] = voided.map((text) => ({ type: "textDelta", text }));
  if (voided.length > 0)
    mixed.push({ type: "usage", usage: { reasoningTokens: 9 } }, { type: "reset", reason: "retry" });
  for (const queue of queues) mixed.push(...queue.splice(0, 1));
  for (const pick of picks) mixed.push(...(queues[pick]?.splice(0, 1) ?? []));
  mixed.push(...queues.flat());
  return usage ? [...mixed, { type: "usage", usage: { inputTokens: 1, outputTokens: 2 } }] : mixed;
}

function blockChunks(block: Block, index: number, cuts: readonly number[]): StreamChunk[] {
  if (block.type === "call") {
    const head: StreamChunk = { type: "toolCallDelta", index, id: `c${index}`, name: block.name };
    const pieces = cutUp(JSON.stringify(block.args), cuts);
    return [head, ...pieces.map((piece): StreamChunk => ({ type: "toolCallDelta", index, argumentsDelta: piece }))];
  }
  const { type, body, signature } = block;
  if (type === "text") return cutUp(body, cuts).map((text) => ({ type: "textDelta", part: index, text }));
  const last: StreamChunk[] =
    signature === undefined ? [] : [{ type: "reasoningDelta", part: index, text: "", signature }];
  return [...cutUp(body, cuts).map((text): StreamChunk => ({ type: "reasoningDelta", part: index, text })), ...last];
}

/** Pieces that join to the text; one where it is not cut. */
function cutUp(text: string, cuts: readonly number[]): string[] {
  const ends = [...new Set([...cuts.map((cut) => Math.floor(cut * text.length)), text.length])].sort((a, b) => a - b);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

function finishOf({ blocks }: Plan): StreamChunk {
  return { type: "finish", reason: blocks.some(({ type }) => type === "call") ? "tool-calls" : "stop" };
}

function responseOf(made: Plan): ModelResponse {
  const parts = made.blocks.flatMap((block, index): AssistantPart[] => {
    if (block.type === "call") return [{ type: "toolCall", id: `c${index}`, name: block.name, arguments: block.args }];
    const { type, body, signature } = block;
    if (body === "" && signature === undefined) return [];
    if (type === "text") return [{ type, text: body }];
    return [{ type: "reasoning", text: body, ...(signature === undefined ? {} : { signature }) }];
  });
  const { reason } = finishOf(made) as Extract<StreamChunk, { readonly type: "finish" }>;
  return { parts, finishReason: reason, ...(made.usage ? { usage: { inputTokens: 1, outputTokens: 2 } } : {}) };
}
