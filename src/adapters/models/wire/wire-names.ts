import { shortHash } from "./short-hash.js";

const ALLOWED = /^[a-zA-Z0-9_-]{1,64}$/;
const ALLOWED_AS_WORD = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/**
 * Tool names as a provider accepts them: letters, digits, `_` and `-`, at most 64. A name that fits is sent as it is; any other gets a
 * readable form with a hash behind it, the same in every request, so that a transcript and its tools agree.
 */
export class WireNames {
  readonly #wireOf = new Map<string, string>();
  readonly #nameOf = new Map<string, string>();
  readonly #allowed: RegExp;

  /** With `first: "letter"` no name begins with a digit or `-`. */
  constructor(names: readonly string[], options: { readonly first?: "any" | "letter" } = {}) {
    this.#allowed = options.first === "letter" ? ALLOWED_AS_WORD : ALLOWED;
    const taken = new Set(names.filter((name) => this.#allowed.test(name)));
    for (const name of names) {
      if (taken.has(name)) continue;
      let wire = this.#accepted(name, 0);
      for (let salt = 1; taken.has(wire); salt++) wire = this.#accepted(name, salt);
      taken.add(wire);
      this.#wireOf.set(name, wire);
      this.#nameOf.set(wire, name);
    }
  }

  /** The form to send; never empty. */
  toWire(name: string): string {
    return this.#wireOf.get(name) ?? (this.#allowed.test(name) ? name : this.#accepted(name, 0));
  }

  /** The tool's own name for what a provider calls it. */
  fromWire(wire: string): string {
    return this.#nameOf.get(wire) ?? wire;
  }

  #accepted(name: string, salt: number): string {
    const readable = name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 50);
    const wire = `${readable === "" ? "unnamed" : readable}_${shortHash(name, salt)}`;
    return this.#allowed.test(wire) ? wire : `_${wire}`;
  }
}
