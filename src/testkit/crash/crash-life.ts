import { Agent } from "../../agent/agent.js";
import type { Session } from "../../domain/session.js";
import type { TurnResult } from "../../domain/turn-result.js";
import type { SessionStore } from "../../ports/session-store.js";
import { RecordingSessionStore } from "../fakes/recording-session-store.js";
import { crashClock, type CrashClock, type Settled } from "./crash-clock.js";
import type { CrashPlace, CrashScenario } from "./crash-scenario.js";
import { JournalScope, type JournalOptions } from "./journal-scope.js";
import type { Witness } from "./witness.js";

export const DEFAULT_SESSION = "s";

/** The same for every life that works on one turn, so that a replay is of that turn. */
const TURN_ID = "turn";

/** Which turn a life runs. */
export type CrashTurn = { readonly kind: "run" | "resume"; readonly decisions?: CrashScenario["decisions"] };

/** Sessions in memory, shared by all lives. */
export function memoryPlace(): CrashPlace {
  const store = new RecordingSessionStore();
  return { open: () => store };
}

/** One agent from its making to its end, by shutdown or because the world stopped. */
export class Life {
  readonly number: number;
  readonly clock: CrashClock;
  readonly sessionId: string;
  readonly #scenario: CrashScenario;
  readonly #agent: Agent;
  readonly #authority: SessionStore;
  #stopped = false;

  private constructor(scenario: CrashScenario, number: number, clock: CrashClock, made: Made) {
    this.number = number;
    this.clock = clock;
    this.sessionId = scenario.sessionId ?? DEFAULT_SESSION;
    this.#scenario = scenario;
    this.#agent = made.agent;
    this.#authority = made.store;
    made.life.current = this;
  }

  static async begin(scenario: CrashScenario, place: CrashPlace, witness: Witness, number: number): Promise<Life> {
    const clock = crashClock(scenario, number);
    const { runtime } = clock;
    const life: Made["life"] = { current: undefined };
    const opened = await place.open({ number, runtime });
    const [first, ...mirrors] = Array.isArray(opened) ? (opened as readonly SessionStore[]) : [opened as SessionStore];
    if (first === undefined) throw new TypeError("a crash place opens at least one store");
    const ports = await scenario.ports({ number, runtime });
    const making = Agent.create({
      ...ports,
      tools: (ports.tools ?? []).map((provider) => witness.tools(provider, number)),
      sessions: [witness.store(first, () => life.current?.isOver === true), ...mirrors],
      config: { onSecondaryFailure: () => undefined, ...ports.config },
      runtime,
    });
    const made = await clock.settle(making);
    if (made.type === "failed") throw made.error;
    if (made.type !== "done") throw new Error("the agent was not composed in time");
    return new Life(scenario, number, clock, { agent: made.value, store: first, life });
  }

  /** The world stopped: what is told from now on is told to nobody. */
  get isOver(): boolean {
    return this.#stopped;
  }

  /** Runs or resumes the turn; `stopped` when it came to the crash point of its scope. */
  turn(
    { kind, decisions }: CrashTurn,
    scope: Omit<JournalOptions, "runtime" | "onCrash">,
  ): Promise<Settled<TurnResult>> {
    const { input = [] } = this.#scenario;
    const onCrash = (): void => {
      this.#stopped = true;
    };
    const stepScope = new JournalScope({ ...scope, runtime: this.clock.runtime, onCrash });
    const durable = this.#scenario.recovery === "journal" ? { turnId: TURN_ID, startedAt: 0 } : undefined;
    const options = { stepScope, takeOver: this.number > 1, ...durable };
    const work =
      kind === "run"
        ? this.#agent.runTurn(input, this.sessionId, options)
        : this.#agent.resumeTurn(this.sessionId, { ...options, ...(decisions === undefined ? {} : { decisions }) });
    return this.clock.settle(work, () => this.#stopped);
  }

  /** What the scenario does before its turn. */
  async before(): Promise<void> {
    const { before } = this.#scenario;
    if (before === undefined) return;
    const work = Promise.resolve(before(this.#agent, this.sessionId));
    const settled = await this.clock.settle(work);
    if (settled.type === "failed") throw settled.error;
    if (settled.type !== "done") throw new Error("what happens before the turn did not end in time");
  }

  /** A session as the authority has it. */
  async stored(id = this.sessionId): Promise<Session> {
    const settled = await this.clock.settle(Promise.resolve(this.#authority.load(id)));
    if (settled.type === "failed") throw settled.error;
    if (settled.type !== "done") throw new Error(`session ${id} could not be read in time`);
    return settled.value;
  }

  /** Shuts the agent down; a life whose world stopped just ends. */
  async end(): Promise<void> {
    if (this.#stopped) return;
    await this.clock.settle(this.#agent.shutdown());
  }
}

type Made = { readonly agent: Agent; readonly store: SessionStore; readonly life: { current: Life | undefined } };
