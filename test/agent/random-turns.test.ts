import fc from "fast-check";
import { expect, test } from "vitest";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { isTerminal } from "../../src/domain/event.js";
import type { DeferredCall } from "../../src/domain/session.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { STAGE_KINDS, STAGE_OUTCOMES, type StageKind, type StageOutcome } from "../../src/domain/stage.js";
import { okResult } from "../../src/domain/tool.js";
import { orderResults, transcriptLaw } from "../../src/domain/transcript.js";
import type { StageContext } from "../../src/ports/hook.js";
import {
  modelStep,
  type ModelStep,
  RecordingSessionStore,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  textStream,
  toolCallsResponse,
  toolDef,
  toolOutcome,
  type ToolStep,
} from "../../src/testkit/index.js";
import { hookAt, unhandledDuring } from "../support/turns.js";

/** Small whole numbers that follow from the seed alone. */
function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = (below: number) => number;
const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;

const TOOL_STEPS: readonly ToolStep[] = [
  toolOutcome.ok("fine"),
  toolOutcome.ok(okResult("bye", { terminate: true })),
  toolOutcome.error("business"),
  toolOutcome.throws(undefined),
  toolOutcome.throws(new Error("broken")),
  toolOutcome.progress([1, 2], toolOutcome.ok({ n: 1 })),
  toolOutcome.hangs(),
  toolOutcome.hangs({ ignoreAbort: true }),
];

function modelStepOf(random: Random, round: number): ModelStep {
  const chunks = textStream(`words of round ${round}`, 3);
  switch (random(9)) {
    case 0:
      return modelStep.respond(stopResponse(`reply ${round}`));
    case 1:
      return modelStep.stream(chunks);
    case 2:
      return modelStep.fail(new ModelError("transport", "lost"), random(2) === 0 ? chunks.slice(0, 2) : []);
    case 3:
      return modelStep.hang(random(2) === 0 ? chunks.slice(0, 2) : []);
    default: {
      const names = ["f", "g", "one", "nobody"];
      const calls = Array.from({ length: 1 + random(4) }, (_, order) => ({
        id: random(12) === 0 ? "same" : `${round}.${order}`,
        name: pick(random, names),
        arguments: {},
        ...(random(10) === 0 ? { malformed: { raw: "{", reason: "cut" } } : undefined),
      }));
      const reply = toolCallsResponse(...calls);
      return modelStep.stream(random(2) === 0 ? chunks.slice(0, -1) : [], {
        ...reply,
        finishReason: random(12) === 0 ? "length" : "tool-calls",
      });
    }
  }
}

/** Something a hook of this stage may do; most of the time nothing. */
function wish(random: Random, kind: StageKind, context: StageContext): unknown {
  if (random(12) !== 0) return undefined;
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

async function play(seed: number): Promise<void> {
  const random = seeded(seed);
  const rounds = 6;
  const tools = new RecordingToolProvider();
  for (const name of ["f", "g"])
    tools.add(
      name,
      Array.from({ length: 60 }, () => pick(random, TOOL_STEPS)),
    );
  tools.add(
    { ...toolDef("one"), executionMode: "sequential" },
    Array.from({ length: 60 }, () => pick(random, TOOL_STEPS)),
  );
  const hooks = ["outer", "inner"].map((name) =>
    hookAt(STAGE_KINDS, (stage, context) => wish(random, stage.kind, context), name),
  );
  await using t = await testAgent({
    script: Array.from({ length: rounds }, (_, round) => modelStepOf(random, round)),
    tools,
    hooks,
    config: {
      maxToolRounds: 1 + random(rounds - 1),
      maxModelAttempts: 1,
      onToolRoundLimit: pick(random, ["fail", "stop"] as const),
      toolExecution: pick(random, ["parallel", "sequential"] as const),
      maxParallelTools: 1 + random(3),
      hookTimeoutMs: 100,
    },
  });
  if (random(5) === 0) t.sessions.failSave("s", { nth: 1 + random(6) });
  const turn = t.agent.startTurn("hi", "s");
  const abortAt = random(40);
  turn.subscribe((event) => {
    if (event.seq === abortAt) turn.abort("random");
  });
  const over = turn.result.then(
    () => undefined,
    (error: unknown) => error,
  );
  await t.runtime.advance(0);
  // What still hangs now waits for the abort.
  turn.abort("late");
  await t.runtime.advance(1_000);
  const error = await over;
  if (error !== undefined && !(error instanceof AgentError)) throw error;
  await check(t, error);
}

async function check(t: Awaited<ReturnType<typeof testAgent>>, error: AgentError | undefined): Promise<void> {
  const { events } = t.observer;
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  const ends = events.filter(({ type }) => isTerminal(type));
  const begun = events.some(({ type }) => type === "turnStarted");
  expect(ends.length).toBe(begun ? 1 : 0);
  if (begun) expect(isTerminal(events.at(-1)?.type ?? "turnStarted")).toBe(true);
  const pendingOf = (deferred: unknown): string[] => ((deferred ?? []) as DeferredCall[]).map(({ callId }) => callId);
  const { messages, metadata } = await t.agent.session("s");
  const pending = pendingOf(metadata[SESSION_KEYS.deferred]);
  const stored = t.sessions.ops.every(({ outcome }) => outcome.ok);
  if (stored) expect(error?.kind).not.toBe("session");
  if (stored) expect(transcriptLaw(orderResults(messages), { pending })).toEqual([]);
  if (error?.partial !== undefined) {
    const { messages: told, deferred } = error.partial;
    expect(transcriptLaw(told, { pending: pendingOf(deferred) })).toEqual([]);
  }
  const results = t.observer.ofType("toolCallResult").map(({ exchange }) => exchange.executionId);
  expect(new Set(results).size).toBe(results.length);
  await expectNextTurn(t);
}

/** Another agent on the same store goes on where this one ended, and asks a lawful request. */
async function expectNextTurn(t: Awaited<ReturnType<typeof testAgent>>): Promise<void> {
  const store = new RecordingSessionStore();
  store.seed("s", await t.agent.session("s"));
  await using next = await testAgent({ script: [stopResponse("back")], sessions: [store] });
  const result = await next.agent.runTurn("again", "s", { takeOver: true });
  expect(result.text).toBe("back");
  const sent = next.model.requests[0]?.messages ?? [];
  expect(transcriptLaw(sent)).toEqual([]);
  expect(sent.at(-1)?.role).toBe("user");
  expect(sent.filter((message) => message.role === "assistant" && message.parts.length === 0)).toEqual([]);
}

test("whatever models, tools, hooks, stores and aborts do, a turn ends once, lawfully, and its session goes on (L5, L8, S4, T3, T4)", async () => {
  const unhandled = await unhandledDuring(async () => {
    await fc.assert(fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), play), { numRuns: 250, endOnFailure: true });
  });
  expect(unhandled).toEqual([]);
}, 60_000);
