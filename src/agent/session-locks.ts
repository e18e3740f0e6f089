import { waitsForCaller } from "./call-path.js";

/** Somebody who waits for an id, and the ids that turns hold which wait for that somebody. */
type Wait = { readonly id: string; readonly held: readonly string[] };

/** One holder at a time per id, in the order of asking (T1). */
export class SessionLocks {
  readonly #tails = new Map<string, Promise<void>>();
  readonly #waits = new Set<Wait>();

  isHeld(id: string): boolean {
    return this.#tails.has(id);
  }

  /**
   * Resolves with how to release; at once where nobody holds the id. `held`: what turns hold that wait for the caller, emptied by one who gives
   * up waiting. Rejects with `AgentError("session")` where the id could not become free before one of them does.
   */
  async acquire(id: string, held: readonly string[] = []): Promise<() => void> {
    const before = this.#tails.get(id);
    if (before === undefined) return this.take(id);
    if (this.#closesCircle(id, held)) throw waitsForCaller(id);
    const release = this.take(id);
    const wait = { id, held };
    this.#waits.add(wait);
    await before;
    this.#waits.delete(wait);
    return release;
  }

  /** Takes an id that nobody holds, at once; one that is held would be held twice. */
  take(id: string): () => void {
    let free!: () => void;
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    this.#tails.set(id, held);
    return () => {
      if (this.#tails.get(id) === held) this.#tails.delete(id);
      free();
    };
  }

  #closesCircle(id: string, held: readonly string[]): boolean {
    const awaited = new Set([id]);
    // What is added is visited too.
    for (const next of awaited) {
      if (held.includes(next)) return true;
      for (const wait of this.#waits) if (wait.held.includes(next)) awaited.add(wait.id);
    }
    return false;
  }
}
