import type { AgentPorts } from "../../agent/agent-ports.js";
import type { AgentApi, TurnInput } from "../../ports/agent-api.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { Decision } from "../../ports/hook.js";
import type { Runtime } from "../../ports/runtime.js";
import type { SessionStore } from "../../ports/session-store.js";

/** One life of an agent: 0 before the turn, 1 the one that ends in a crash, 2 the one that goes on. */
export type CrashLife = { readonly number: number; readonly runtime: Runtime };

/** Where sessions outlive a crash. `open` gives the store of one life, first the authority, then mirrors; each life opens once. */
export type CrashPlace = {
  open(life: CrashLife): Awaitable<SessionStore | readonly SessionStore[]>;
  [Symbol.asyncDispose]?(): PromiseLike<void>;
};

/**
 * How the turn is taken up after the crash. `"store"`: from what is stored alone, with `resumeTurn`, or with the input again where nothing of it
 * was stored. `"journal"`: by replaying the record of its steps, as on a durable engine; a wave is settled in input order then.
 */
export type CrashRecovery = "store" | "journal";

/** A turn that is to survive crashes. */
export type CrashScenario = {
  /**
   * The parts of one life, made anew for each: only what lies outside outlives a crash. Stores and runtime are put beside them. A model that is asked
   * again must answer the same, as `ConversingModel` does.
   */
  readonly ports: (life: CrashLife) => Awaitable<Omit<AgentPorts, "sessions" | "runtime">>;
  /** What the turn is given; without it the turn is a `resumeTurn`. */
  readonly input?: TurnInput | undefined;
  /** About calls that wait, for a turn without input. */
  readonly decisions?: readonly Decision[] | undefined;
  /** Default `"s"`. */
  readonly sessionId?: string | undefined;
  /** What happens in a life before the turn: earlier turns, for instance. */
  readonly before?: ((agent: AgentApi, sessionId: string) => Awaitable<unknown>) | undefined;
  /** Made for each crash point; default sessions in memory. */
  readonly place?: (() => Awaitable<CrashPlace>) | undefined;
  readonly recovery?: CrashRecovery | undefined;
  /**
   * Default `"virtual"`: time moves as far as somebody waits for it, so that what hangs takes no time. `"real"` for ports that do
   * network traffic of their own.
   */
  readonly clock?: "virtual" | "real" | undefined;
  /** How long one life may take by that clock before it counts as hanging, in ms; default an hour of virtual, 30 s of real time. */
  readonly patienceMs?: number | undefined;
};
