import { shortHash } from "./short-hash.js";

/**
 * Ids of calls as a wire accepts them: not empty, not longer than `longest` (at least 20), and matching `allowed`, which letters,
 * digits, `_` and `-` always do. An id that fits goes as it is where no call before it has it; any other gets a form of its own, the
 * same in every request that begins alike.
 */
export class WireCallIds {
  readonly #longest: number;
  readonly #allowed: RegExp;
  readonly #taken = new Set<string>();

  constructor(longest: number, allowed = /^[a-zA-Z0-9_-]+$/) {
    this.#longest = longest;
    this.#allowed = allowed;
  }

  /** The id for the next call, and for its result: each call has its own, whatever it was stored with. */
  next(id: string): string {
    let wire = this.#fits(id) ? id : this.#form(id, 0);
    for (let salt = 1; this.#taken.has(wire); salt++) wire = this.#form(id, salt);
    this.#taken.add(wire);
    return wire;
  }

  #fits(id: string): boolean {
    return id !== "" && id.length <= this.#longest && this.#allowed.test(id);
  }

  #form(id: string, salt: number): string {
    const readable = id.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, this.#longest - 9);
    return `${readable === "" ? "call" : readable}_${shortHash(id, salt)}`;
  }
}
