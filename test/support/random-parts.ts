import { ModelError, ToolError } from "../../src/domain/errors.js";
import { userMessage } from "../../src/domain/message.js";
import { type StageKind, STAGE_OUTCOMES, type StageOutcome } from "../../src/domain/stage.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import { errorResult, okResult } from "../../src/domain/tool.js";
import type { Compressor } from "../../src/ports/compressor.js";
import type { StageContext } from "../../src/ports/hook.js";
import type { ChatRequest, ModelPort } from "../../src/ports/model.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  type ModelStep,
  ScriptedModel,
  stopResponse,
  textStream,
  toolCallsResponse,
  toolDef,
} from "../../src/testkit/index.js";
import { never } from "./turns.js";

/** Small whole numbers that follow from the seed alone. */
export type Random = (below: number) => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;

/** Something from outside happens, or not. */
export type Disturb = () => void;

function modelStepOf(random: Random, number: number): ModelStep {
  const chunks = textStream(`words ${number}`, 3);
  switch (random(9)) {
    case 0:
      return modelStep.respond(stopResponse(`reply ${number}`));
    case 1:
      return modelStep.stream(chunks);
    case 2:
      return modelStep.fail(new ModelError("transport", "lost"), random(2) === 0 ? chunks.slice(0, 2) : []);
    case 3:
      return modelStep.hang(random(2) === 0 ? chunks.slice(0, 2) : []);
    default: {
      const names = ["f", "g", "one", "nobody"];
      const calls = Array.from({ length: 1 + random(4) }, (_, order) => ({
        id: random(12) === 0 ? "same" : `${number}.${order}`,
        name: pick(random, names),
        arguments: {},
        ...(random(10) === 0 ? { malformed: { raw: "{", reason: "cut" } } : undefined),
      }));
      const finishReason = random(12) === 0 ? "length" : "tool-calls";
      const before = random(2) === 0 ? chunks.slice(0, -1) : [];
      return modelStep.stream(before, { ...toolCallsResponse(...calls), finishReason });
    }
  }
}

/** A model that does anything, for as long as it is asked; now and then it takes no notice of its signal. */
export function randomModel(random: Random, disturb: Disturb): ModelPort & { readonly scripted: ScriptedModel } {
  const scripted = new ScriptedModel();
  const asked = (request: ChatRequest): ChatRequest => {
    disturb();
    scripted.push(modelStepOf(random, scripted.callCount));
    return random(8) === 0 ? { ...request, signal: new AbortController().signal } : request;
  };
  return {
    scripted,
    chat: (request) => scripted.chat(asked(request)),
    chatStreaming(request, onChunk) {
      const told = (chunk: StreamChunk): void => {
        onChunk(chunk);
        disturb();
      };
      return scripted.chatStreaming(asked(request), told);
    },
  };
}

const untilAborted = ({ signal }: ToolContext): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new ToolError("aborted", "stopped")), { once: true });
  });

const ACTS: readonly ((context: ToolContext) => ToolReturn | Promise<ToolReturn>)[] = [
  () => "fine",
  () => Promise.resolve("in time"),
  () => okResult("bye", { terminate: true }),
  () => errorResult("business"),
  () => Promise.reject(undefined),
  () => {
    throw new Error("broken");
  },
  ({ progress }) => {
    progress(1);
    return { n: 1 };
  },
  untilAborted,
  never,
];

/** Tools that do anything: two parallel ones, of which one is read-only, and one that runs alone. */
export function randomTools(random: Random, disturb: Disturb): ToolProvider {
  const defs = [
    toolDef("f"),
    { ...toolDef("g"), annotations: { readOnlyHint: true } },
    { ...toolDef("one"), executionMode: "sequential" as const },
  ];
  return {
    name: "random",
    trustAnnotations: true,
    listTools: () => defs,
    async execute(_, context) {
      disturb();
      const value = await pick(random, ACTS)(context);
      disturb();
      return value;
    },
  };
}

/** A compressor that goes on in a new session now and then, where it can (S5). */
export function randomThreads(random: Random, disturb: Disturb): Compressor {
  let threads = 0;
  return {
    name: "random",
    compress(messages) {
      disturb();
      if (messages.length < 3 || random(4) !== 0) return { type: "none" };
      threads += 1;
      const kept = [userMessage("."), ...messages.slice(-2)];
      const counts = { messagesBefore: messages.length, messagesAfter: kept.length };
      return { type: "newThread", newSessionId: `s${threads}`, messages: kept, ...counts };
    },
  };
}

/** Something a hook of this stage may do; most of the time nothing, the more so the calmer it is. */
export function wish(random: Random, calm: number, kind: StageKind, context: StageContext): unknown {
  if (kind === "beforeTool" && random(8) === 0) return context.defer("ask");
  if (random(calm) !== 0) return undefined;
  if (random(6) === 0) throw new Error(`hook at ${kind}`);
  if (random(8) === 0) return { kind: "nonsense" };
  context.onSettled(() => undefined);
  if (STAGE_OUTCOMES[kind].length === 0) return random(2) === 0 ? Promise.resolve() : undefined;
  const made: { readonly [K in StageOutcome["kind"]]: () => StageOutcome } = {
    next: () => ({ kind: "next", patch: {} }),
    stop: () => context.stop("random"),
    abort: () => context.abort("random"),
    retry: () => context.retry(),
    answer: () => context.answer("answered"),
    block: () => context.block("blocked"),
    defer: () => context.defer("ask"),
    patch: () => context.patch({ details: { patched: true } }),
    finish: () => context.finish(),
    checkpoint: () => context.checkpoint(),
    cancel: () => context.cancel("random"),
    goOn: () => context.goOn(),
    wait: () => context.wait(),
  };
  const outcome = made[pick<StageOutcome["kind"]>(random, STAGE_OUTCOMES[kind])]();
  return random(2) === 0 ? Promise.resolve(outcome) : outcome;
}
