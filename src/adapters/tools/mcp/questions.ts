import type { CallClock } from "./call-clock.js";

/** A question that is open: `signal` fires when no call is left that it may belong to. */
export type OpenQuestion = { readonly signal: AbortSignal; readonly end: () => void };

type Question = { readonly calls: Set<CallClock>; readonly controller: AbortController };

/** Of one connection at one time: people answer no more, and a server may ask without end. */
const MAX_OPEN = 64;

/**
 * What a server asks the user while calls run. No call's time goes on meanwhile, whichever of them it is asked for: that is not told. So a question
 * ends with the last of the calls that ran when it was asked, else one that nobody answers would hold the time of every later call; and one that
 * is asked while none runs holds no time.
 */
export class Questions {
  readonly #running = new Set<CallClock>();
  readonly #open = new Set<Question>();

  begin(clock: CallClock): void {
    if (this.#holds()) clock.hold();
    this.#running.add(clock);
  }

  end(clock: CallClock): void {
    clock.end();
    this.#running.delete(clock);
    for (const { calls, controller } of this.#open) {
      if (calls.delete(clock) && calls.size === 0) controller.abort();
    }
  }

  /** Nothing where too many questions are open. */
  ask(): OpenQuestion | undefined {
    if (this.#open.size >= MAX_OPEN) return undefined;
    const question: Question = { calls: new Set(this.#running), controller: new AbortController() };
    this.#open.add(question);
    for (const clock of this.#running) clock.hold();
    return {
      signal: question.controller.signal,
      end: () => {
        if (!this.#open.delete(question) || this.#holds()) return;
        for (const clock of this.#running) clock.release();
      },
    };
  }

  #holds(): boolean {
    for (const { calls } of this.#open) if (calls.size > 0) return true;
    return false;
  }
}
