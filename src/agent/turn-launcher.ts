import { AgentError, CompositionError, Defect } from "../domain/errors.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { EventListener, TurnHandle, TurnOptions } from "../ports/agent-api.js";
import type { AgentPorts } from "./agent-ports.js";
import { forTurn } from "./composition.js";
import { invalidInput } from "./invalid-input.js";
import { type Launch, launch, type LaunchOptions } from "./launch.js";
import type { Opening } from "./run-turn.js";
import type { SessionHost } from "./session-host.js";
import { LiveTurns } from "./shutdown.js";
import { RunningTurn } from "./turn-handle.js";
import type { Wiring } from "./wiring.js";

/** What an agent is made of at the moment. */
export type Parts = { readonly wiring: Wiring; readonly ports: AgentPorts };

/** What a turn is started with: its opening is made at once, so that the caller may change what it gave. */
export type TurnRequest = {
  readonly opening: () => Opening;
  readonly sessionId: string | undefined;
  readonly options: TurnOptions;
};

/** Starts the turns of an agent, and knows those that live. */
export class TurnLauncher {
  readonly live = new LiveTurns();
  readonly #host: SessionHost;
  readonly #listeners: ReadonlySet<EventListener>;
  readonly #parts: () => Parts;

  constructor(host: SessionHost, listeners: ReadonlySet<EventListener>, parts: () => Parts) {
    this.#host = host;
    this.#listeners = listeners;
    this.#parts = parts;
  }

  /** Runs a turn without a handle. It starts in the next microtask, like every other: the order of the calls is the order of the turns (T1, T8). */
  async run(request: TurnRequest): Promise<TurnResult> {
    const made = this.#launch(request);
    await Promise.resolve();
    return this.live.run(made, made.start);
  }

  handle(request: TurnRequest): TurnHandle {
    const made = this.#launch(request);
    return new RunningTurn(made.run.turnId, made.bus, made.control, () => this.live.run(made, made.start));
  }

  #launch({ opening, sessionId, options }: TurnRequest): Launch {
    const { runtime } = this.#parts().wiring;
    const made: Launch = launch({
      ...this.#prepare(opening, sessionId, options),
      host: this.#host,
      sessionId: typeof sessionId === "string" ? sessionId : runtime.newId(),
      turnId: options.turnId ?? runtime.newId(),
      onEnd: () => this.live.delete(made),
    });
    for (const listener of this.#listeners) {
      // Who unsubscribes hears no more of turns that run either.
      made.bus.listen((event) => (this.#listeners.has(listener) ? listener(event) : undefined));
    }
    this.live.add(made);
    return made;
  }

  /** What is wrong with the opening, the session id or the options is thrown when the turn starts. */
  #prepare(
    opening: () => Opening,
    sessionId: unknown,
    options: TurnOptions,
  ): Pick<LaunchOptions, "wiring" | "options" | "opening"> {
    const { wiring, ports } = this.#parts();
    try {
      // Most often the options in the place of the id.
      if (sessionId !== undefined && sessionId !== null && typeof sessionId !== "string")
        throw new AgentError("invalid-input", "the session id is no text; options come after it");
      const own = forTurn(wiring, ports, options);
      const opened = opening();
      return { wiring: own, options, opening: () => (this.live.checkOpen(), opened) };
    } catch (error) {
      const refuse = (): never => {
        this.live.checkOpen();
        throw invalid(error);
      };
      return { wiring, options: { signal: options.signal }, opening: refuse };
    }
  }
}

/** What is wrong with the input or options of a turn; a `Defect` stays one. */
function invalid(error: unknown): unknown {
  if (Defect.is(error) || error instanceof AgentError) return error;
  // What is wrong with options is our own text, and says which.
  if (error instanceof CompositionError) return new AgentError("invalid-input", error.message, { cause: error });
  return invalidInput(error);
}
