/** The signal of one call that has a timeout: aborted with the turn's, or alone. Until `end` it is one listener on the turn's. */
export class ToolSignal {
  readonly #controller = new AbortController();
  readonly #turn: AbortSignal;
  readonly #follow = (): void => this.#controller.abort(this.#turn.reason);

  constructor(turn: AbortSignal) {
    this.#turn = turn;
    if (turn.aborted) this.#follow();
    else turn.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The call is over; one that was given up is told. */
  end(how: "settled" | "timeout"): void {
    this.#turn.removeEventListener("abort", this.#follow);
    if (how === "timeout") this.#controller.abort(new DOMException("the call took too long", "TimeoutError"));
  }
}
