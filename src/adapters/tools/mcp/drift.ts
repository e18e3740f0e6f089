import type { ListedTool } from "./listed-tool.js";

/** How the definition of a tool stands to what was approved. */
export type DriftState = "as-approved" | "changed" | "changed-before";

/** What was approved of the definitions of one provider's tools, by the names they are offered under. */
export class Drift {
  readonly #approved: Map<string, string>;
  readonly #latest = new Map<string, string>();

  constructor(approved: Readonly<Record<string, string>>) {
    this.#approved = new Map(Object.entries(approved));
  }

  /** A definition seen for the first time counts as approved. `changed` is said once for each other definition. */
  see(name: string, { fingerprint }: ListedTool): DriftState {
    const before = this.#latest.get(name);
    this.#latest.set(name, fingerprint);
    const approved = this.#approved.get(name);
    if (approved === undefined) this.#approved.set(name, fingerprint);
    if (approved === undefined || approved === fingerprint) return "as-approved";
    return before === fingerprint ? "changed-before" : "changed";
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
