import type { ListedTool } from "./listed-tool.js";

/** How the definition of a tool stands to what was approved: as it was approved, another, or one of a tool that nobody approved. */
export type DriftState = {
  readonly kind: "as-approved" | "changed" | "unknown" /** Not seen before. */;
  readonly news: boolean;
};

/** Far more tools than there are; a server may make up new ones without end. */
const MAX_KNOWN = 100_000;

/** What was approved of the definitions of one provider's tools, by the names they are offered under. */
export class Drift {
  readonly #approved: Map<string, string>;
  readonly #latest = new Map<string, string>();
  readonly #complete: boolean;

  /** Without a list of what is approved, a definition that is seen for the first time is, of the first `MAX_KNOWN` tools. */
  constructor(approved: Readonly<Record<string, string>> | undefined) {
    this.#complete = approved !== undefined;
    this.#approved = new Map(Object.entries(approved ?? {}));
  }

  see(name: string, { fingerprint }: ListedTool): DriftState {
    const news = this.#latest.get(name) !== fingerprint;
    if (this.#latest.has(name) || this.#latest.size < MAX_KNOWN) this.#latest.set(name, fingerprint);
    const approved = this.#approved.get(name);
    if (approved === undefined && (this.#complete || this.#approved.size >= MAX_KNOWN))
      return { kind: "unknown", news };
    if (approved === undefined) this.#approved.set(name, fingerprint);
    return { kind: approved === undefined || approved === fingerprint ? "as-approved" : "changed", news };
  }

  /** Approves the definition seen last; false for a tool that was never listed. */
  approve(name: string): boolean {
    const latest = this.#latest.get(name);
    if (latest !== undefined) this.#approved.set(name, latest);
    return latest !== undefined;
  }

  /** What is approved now. */
  fingerprints(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#approved].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
