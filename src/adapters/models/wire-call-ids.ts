import { shortHash } from "./short-hash.js";

/**
 * Ids of calls as a wire accepts them: of letters, digits, `_` and `-`, not longer than `longest` (at least 20). An id that fits goes as
 * it is where no call before it has it; any other gets a form of its own, the same in every request that begins alike.
 */
export class WireCallIds {
  readonly #longest: number;
  readonly #taken = new Set<string>();

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The id for the next call, and for its result: each call has its own, whatever it was stored with. */
  next(id: string): string {
    let wire = this.#fits(id) ? id : this.#form(id, 0);
    for (let salt = 1; this.#taken.has(wire); salt++) wire = this.#form(id, salt);
    this.#taken.add(wire);
    return wire;
  }

  #fits(id: string): boolean {
    return id.length <= this.#longest && /^[a-zA-Z0-9_-]+$/.test(id);
  }

  #form(id: string, salt: number): string {
    const readable = id.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, this.#longest - 9);
    return `${readable === "" ? "call" : readable}_${shortHash(id, salt)}`;
  }
}
