import { getEventListeners } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import { isTerminal, type TurnEvent } from "../../src/domain/event.js";
import { type AgentMessage, isMessage, textOf } from "../../src/domain/message.js";
import { type DeferredCall, type Session, SESSION_KEYS } from "../../src/domain/session.js";
import { STAGE_KINDS } from "../../src/domain/stage.js";
import { openCalls, orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import type { TurnHandle } from "../../src/ports/agent-api.js";
import type { Decision } from "../../src/ports/hook.js";
import { RecordingSessionStore, stopResponse, testAgent, type TestAgent } from "../../src/testkit/index.js";
import { ToldStore } from "../support/levers.js";
import { pick, type Random, randomModel, randomThreads, randomTools, seeded, wish } from "../support/random-parts.js";
import { hookAt, unhandledDuring } from "../support/turns.js";

type End = { readonly turn: TurnHandle; readonly result?: TurnResult; readonly error?: unknown };

/** Turns on one session, with a person at the levers who pulls at any of them at any moment. */
class Game {
  readonly ends: End[] = [];
  /** What was accepted, and what was refused. */
  readonly given = new Map<string, boolean>();
  readonly faults: TurnEvent[] = [];
  /** Where the conversation is, and where it was before (S5). */
  readonly sessions = ["s"];
  readonly #random: Random;
  readonly #interrupted = new Set<string>();
  #turns: TurnHandle[] = [];
  /** How seldom something happens; each game has its own pace. */
  readonly #calm: number;

  constructor(random: Random) {
    this.#random = random;
    this.#calm = pick(random, [4, 12, 40, 200]);
  }

  get session(): string {
    return this.sessions.at(-1) ?? "s";
  }

  /** Anything a person may do to a turn that runs. */
  readonly disturb = (): void => {
    const random = this.#random;
    if (this.#turns.length === 0 || random(this.#calm) !== 0) return;
    const turn = pick(random, this.#turns);
    const text = `given ${this.given.size}`;
    switch (random(8)) {
      case 0:
        return random(3) === 0 ? turn.abort("random") : undefined;
      case 1:
      case 2:
        this.#interrupted.add(turn.id);
        return turn.interrupt();
      case 3:
      case 4:
        return void this.given.set(text, turn.followUp(text));
      default:
        return void this.given.set(text, turn.steer(text));
    }
  };

  /** Plays turns that run, or wait for each other, to their end. */
  async play(t: TestAgent, turns: readonly TurnHandle[]): Promise<void> {
    this.#turns = [...turns];
    let open = turns.length;
    for (const turn of turns) {
      turn.subscribe((event) => {
        this.#watch(event);
        this.disturb();
      });
      turn.result.then(
        (result) => this.#end({ turn, result }, () => (open -= 1)),
        (error: unknown) => this.#end({ turn, error }, () => (open -= 1)),
      );
    }
    for (let pause = 0; pause < 3 && open > 0; pause++) {
      await t.runtime.advance(pick(this.#random, [0, 50, 600]));
      for (let i = 0; i < this.#calm; i++) this.disturb();
    }
    // What hangs now waits for the abort.
    for (const turn of turns) turn.abort("late");
    await t.runtime.advance(1_000);
    expect(open).toBe(0);
    this.disturb();
    this.#turns = [];
  }

  /** Goes where the parent says that its conversation went. */
  async follow(t: TestAgent): Promise<Session> {
    for (;;) {
      const session = await t.agent.session(this.session);
      const to = session.metadata[SESSION_KEYS.redirectedTo];
      if (typeof to !== "string") return session;
      this.sessions.push(to);
    }
  }

  /** Nothing starts in a batch that somebody interrupted, until a message goes on (L4). */
  #watch(event: TurnEvent): void {
    if (event.type === "messageAdded") this.#interrupted.delete(event.turnId);
    if (event.type === "toolCallStarted" && this.#interrupted.has(event.turnId)) this.faults.push(event);
  }

  #end(end: End, count: () => void): void {
    this.ends.push(end);
    count();
  }
}

/** Random ends of what waits for a decision; now and then of what does not. */
function decisionsOf(random: Random, pending: readonly DeferredCall[]): Decision[] {
  const decisions = pending
    .filter(() => random(3) > 0)
    .map(({ callId }): Decision => {
      if (random(3) === 0) return { callId, approve: false, reason: "no" };
      return { callId, approve: true, ...(random(3) === 0 ? { arguments: { changed: true } } : undefined) };
    });
  return random(12) === 0 ? [...decisions, { callId: "nobody's", approve: true }] : decisions;
}

const pendingIn = (deferred: unknown): DeferredCall[] => (deferred ?? []) as DeferredCall[];

async function startedTurns(t: TestAgent, game: Game, random: Random, signal: AbortSignal): Promise<TurnHandle[]> {
  const fresh = (): TurnHandle => {
    const text = `given ${game.given.size}`;
    game.given.set(text, true);
    return t.agent.startTurn(text, game.session, { signal });
  };
  const pending = pendingIn((await game.follow(t)).metadata[SESSION_KEYS.deferred]);
  const resumes = game.ends.length > 0 && random(pending.length > 0 ? 4 : 2) > 0;
  const first = resumes
    ? t.agent.startResume(pick(random, game.sessions), { signal, decisions: decisionsOf(random, pending) })
    : fresh();
  return random(6) === 0 ? [first, fresh()] : [first];
}

async function play(seed: number): Promise<void> {
  const random = seeded(seed);
  const game = new Game(random);
  const { disturb } = game;
  const store = new ToldStore();
  store.onLoad = disturb;
  store.onAppend = disturb;
  const calm = pick(random, [12, 60, 400, 4_000]);
  const hooks = ["outer", "inner"].map((name) =>
    hookAt(STAGE_KINDS, (stage, context) => (disturb(), wish(random, calm, stage.kind, context)), name),
  );
  const model = randomModel(random, disturb);
  const persistence = pick(random, ["round", "round", "turn"] as const);
  await using t = await testAgent({
    model,
    providers: [randomTools(random, disturb)],
    hooks,
    // One write at the end cannot be one with the redirect, which is a second.
    compressors: persistence === "round" && random(2) === 0 ? [randomThreads(random, disturb)] : [],
    sessions: [store],
    config: {
      maxToolRounds: 1 + random(5),
      maxModelAttempts: 1 + random(2),
      onToolRoundLimit: pick(random, ["fail", "stop"] as const),
      toolExecution: pick(random, ["parallel", "sequential"] as const),
      persistence,
      onBusy: pick(random, ["wait", "refuse"] as const),
      steerMode: pick(random, ["one", "all"] as const),
      followUpMode: pick(random, ["one", "all"] as const),
      maxParallelTools: 1 + random(3),
      hookTimeoutMs: 100,
      ...(random(6) === 0 ? { maxModelCalls: 1 + random(4) } : undefined),
      ...(random(6) === 0 ? { maxToolCalls: random(4) } : undefined),
    },
  });
  const { signal } = new AbortController();
  for (let turns = 1 + random(4); turns > 0; turns--) {
    if (random(10) === 0) store.failSave(game.session, { nth: 1 + random(6) });
    if (random(16) === 0) writeBetween(store, random, game.session);
    await game.play(t, await startedTurns(t, game, random, signal));
    await check(t, game, store, persistence);
  }
  for (const { messages } of model.scripted.requests) expect(transcriptLaw(messages)).toEqual([]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await expectNextTurn(t, game.session);
}

/** Somebody else writes to the session before one of the next writes. */
function writeBetween(store: ToldStore, random: Random, id: string): void {
  const { onAppend } = store;
  let writes = random(5);
  store.onAppend = (delta) => {
    if (writes-- === 0) store.conflictOnce(id);
    onAppend(delta);
  };
}

async function check(t: TestAgent, game: Game, store: ToldStore, persistence: string): Promise<void> {
  const undelivered: AgentMessage[] = [];
  for (const { turn, result, error } of game.ends) {
    if (error !== undefined && !(error instanceof AgentError)) throw error;
    const partial = result ?? error?.partial;
    if (partial === undefined) throw new Error("an error without what the turn did", { cause: error });
    undelivered.push(...partial.undelivered);
    const pending = partial.deferred.map(({ callId }) => callId);
    if (game.ends.length === 1) expect(transcriptLaw(partial.messages, { pending })).toEqual([]);
    checkEvents(t, turn);
  }
  const { messages, metadata } = await game.follow(t);
  const waiting = pendingIn(metadata[SESSION_KEYS.deferred]);
  if (store.ops.every(({ outcome }) => outcome.ok)) {
    const pending = waiting.map(({ callId }) => callId);
    expect(transcriptLaw(orderResults(messages), { pending })).toEqual([]);
    const open = openCalls(messages).map(({ message, order }) => `${message.id}.${order}`);
    expect(open.sort()).toEqual(waiting.map(({ executionId }) => executionId).sort());
  }
  expect(game.faults).toEqual([]);
  checkGiven(game, [...(await allStored(t, game)), ...undelivered]);
  const results = t.observer
    .ofType("toolCallResult")
    .map(({ exchange, turnId }) => `${persistence === "turn" ? turnId : ""} ${exchange.executionId}`);
  expect(new Set(results).size).toBe(results.length);
}

/** What the sessions of the conversation hold; a child begins with messages of its parent. */
async function allStored(t: TestAgent, { sessions }: Game): Promise<AgentMessage[]> {
  const stored = new Map<string, AgentMessage>();
  for (const id of sessions)
    for (const message of (await t.agent.session(id)).messages) stored.set(message.id, message);
  return [...stored.values()];
}

/** What was accepted is in the session once or was told; what was refused is in neither. */
function checkGiven({ given }: Game, found: readonly AgentMessage[]): void {
  const counts = new Map<string, number>();
  for (const message of found) {
    if (!isMessage(message) || message.role !== "user") continue;
    counts.set(textOf(message), (counts.get(textOf(message)) ?? 0) + 1);
  }
  const expected = [...given].map(([text, accepted]) => [text, accepted ? 1 : 0]);
  expect([...given.keys()].map((text) => [text, counts.get(text) ?? 0])).toEqual(expected);
}

function checkEvents(t: TestAgent, turn: TurnHandle): void {
  const events = t.observer.events.filter(({ turnId }) => turnId === turn.id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  const begun = events.some(({ type }) => type === "turnStarted");
  expect(events.filter(({ type }) => isTerminal(type)).length).toBe(begun ? 1 : 0);
  if (begun) expect(isTerminal(events.at(-1)?.type ?? "turnStarted")).toBe(true);
}

/** Another agent on the same store goes on where this one ended, and asks a lawful request. */
async function expectNextTurn(t: TestAgent, id: string): Promise<void> {
  const store = new RecordingSessionStore();
  store.seed("s", await t.agent.session(id));
  await using next = await testAgent({ script: [stopResponse("back")], sessions: [store] });
  const result = await next.agent.runTurn("again", "s", { takeOver: true });
  expect(result.text).toBe("back");
  const sent = next.model.requests[0]?.messages ?? [];
  expect(transcriptLaw(sent)).toEqual([]);
  expect(sent.at(-1)?.role).toBe("user");
  expect(sent.filter((message) => message.role === "assistant" && message.parts.length === 0)).toEqual([]);
}

test("whatever models, tools, hooks, stores and people at the levers do, a turn ends once, lawfully, loses nothing it was given, and its session goes on (L3, L4, L5, L8, S4, S5, S6, T3, T4, U5)", async () => {
  const unhandled = await unhandledDuring(async () => {
    const seeds = fc.integer({ min: 0, max: 2 ** 31 });
    await fc.assert(fc.asyncProperty(seeds, play), { numRuns: 2_000, endOnFailure: true, examples: [[525148926]] });
  });
  expect(unhandled).toEqual([]);
});
