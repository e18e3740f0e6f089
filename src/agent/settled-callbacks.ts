import type { Awaitable } from "../ports/awaitable.js";
import type { StepScope } from "../ports/step-scope.js";
import { isThenable } from "./observers.js";
import type { HookTurn } from "./stage-context.js";
import type { Stages } from "./stages.js";

/** What running a callback needs of its turn. */
type SettlingTurn = Pick<HookTurn, "within" | "hookTimeoutMs"> & { readonly scope: Pick<StepScope, "bounded"> };

/** What hooks left to be run when a request or a round ends (H4). */
export class SettledCallbacks {
  readonly #turn: SettlingTurn;
  readonly #stages: Pick<Stages, "secondary">;
  /** Made for the first callback. */
  #lists: { readonly [W in "request" | "round"]: (() => Awaitable<void>)[] } | undefined;

  constructor(turn: SettlingTurn, stages: Pick<Stages, "secondary">) {
    this.#turn = turn;
    this.#stages = stages;
  }

  /** Whether there is anything left. */
  get waiting(): boolean {
    return this.#lists !== undefined && (this.#lists.request.length > 0 || this.#lists.round.length > 0);
  }

  add(what: "request" | "round", fn: () => Awaitable<void>): void {
    this.#lists ??= { request: [], round: [] };
    this.#lists[what].push(fn);
  }

  /** Runs what was left for the end of a request or round, the last one first; a throw is secondary. */
  async settle(what: "request" | "round"): Promise<void> {
    const list = this.#lists?.[what];
    while (list !== undefined && list.length > 0) {
      const fn = list.pop() as () => Awaitable<void>;
      try {
        const answer = this.#turn.within(fn);
        if (!isThenable(answer)) continue;
        const outcome = await this.#turn.scope.bounded(() => answer, this.#turn.hookTimeoutMs);
        if (!outcome.ok) this.#stages.secondary("settled", outcome.error);
      } catch (error) {
        this.#stages.secondary("settled", error);
      }
    }
  }

  /** Runs everything that is left, when a round or the turn ends. */
  async settleAll(): Promise<void> {
    await this.settle("request");
    await this.settle("round");
  }
}
