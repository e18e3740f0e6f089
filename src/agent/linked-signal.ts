/** A signal for one piece of work: it fires with an outer one, or when the work alone is given up. Holds a listener until `release`. */
export class LinkedSignal {
  readonly #own = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow = (): void => this.#own.abort(this.#outer.reason);

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    if (outer.aborted) this.#follow();
    else outer.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  giveUp(): void {
    this.#own.abort();
  }

  release(): void {
    this.#outer.removeEventListener("abort", this.#follow);
  }
}
