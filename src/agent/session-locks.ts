/** One holder at a time per id, in the order of asking (T1). */
export class SessionLocks {
  readonly #tails = new Map<string, Promise<void>>();

  isHeld(id: string): boolean {
    return this.#tails.has(id);
  }

  /** Resolves with how to release; at once where nobody holds the id. */
  async acquire(id: string): Promise<() => void> {
    const before = this.#tails.get(id);
    const release = this.take(id);
    if (before !== undefined) await before;
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
}
