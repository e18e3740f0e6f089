import type { CallClock } from "./call-clock.js";

/** A question that is open: `signal` fires when no call is left that it may belong to. */
export type OpenQuestion = { readonly signal: AbortSignal; readonly end: () => void };

type Question = { readonly calls: Set<CallClock>; readonly controller: AbortController };

/**
 * What a server asks the user while calls run. No call's time goes on meanwhile, whichever of them it is asked for: that is not told. So a question
 * ends with the last of the calls that ran when it was asked, else one that nobody answers would hold the time of every later call.
 */
export class Questions {
  readonly #running = new Set<CallClock>();
  readonly #open = new Set<Question>();

  begin(clock: CallClock): void {
    if (this.#open.size > 0) clock.hold();
    this.#running.add(clock);
  }

  end(clock: CallClock): void {
    clock.end();
    this.#running.delete(clock);
    for (const { calls, controller } of this.#open) {
      if (calls.delete(clock) && calls.size === 0) controller.abort();
    }
  }

  ask(): OpenQuestion {
    const question: Question = { calls: new Set(this.#running), controller: new AbortController() };
    this.#open.add(question);
    for (const clock of this.#running) clock.hold();
    return {
      signal: question.controller.signal,
      end: () => {
        if (!this.#open.delete(question) || this.#open.size > 0) return;
        for (const clock of this.#running) clock.release();
      },
    };
  }
}
