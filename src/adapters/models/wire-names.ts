const ALLOWED = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Tool names as a provider accepts them: letters, digits, `_` and `-`, at most 64. A name that fits is sent as it is; any other gets a
 * readable form with a hash behind it, the same in every request, so that a transcript and its tools agree.
 */
export class WireNames {
  readonly #wireOf = new Map<string, string>();
  readonly #nameOf = new Map<string, string>();

  constructor(names: readonly string[]) {
    const taken = new Set(names.filter((name) => ALLOWED.test(name)));
    for (const name of names) {
      if (taken.has(name)) continue;
      let wire = accepted(name, 0);
      for (let salt = 1; taken.has(wire); salt++) wire = accepted(name, salt);
      taken.add(wire);
      this.#wireOf.set(name, wire);
      this.#nameOf.set(wire, name);
    }
  }

  /** The form to send; never empty. */
  toWire(name: string): string {
    return this.#wireOf.get(name) ?? (ALLOWED.test(name) ? name : accepted(name, 0));
  }

  /** The tool's own name for what a provider calls it. */
  fromWire(wire: string): string {
    return this.#nameOf.get(wire) ?? wire;
  }
}

function accepted(name: string, salt: number): string {
  const readable = name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 50);
  return `${readable === "" ? "unnamed" : readable}_${hash(name, salt)}`;
}

/** FNV-1a over UTF-16 units, in hexadecimal. */
function hash(text: string, salt: number): string {
  let value = 0x811c9dc5 ^ salt;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}
