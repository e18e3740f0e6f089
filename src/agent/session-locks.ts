/** One holder at a time per id, in the order of asking (T1). */
export class SessionLocks {
  readonly #tails = new Map<string, Promise<void>>();

  isHeld(id: string): boolean {
    return this.#tails.has(id);
  }

  /** Resolves with how to release; at once where nobody holds the id. */
  async acquire(id: string): Promise<() => void> {
    const before = this.#tails.get(id);
    let free!: () => void;
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    this.#tails.set(id, held);
    if (before !== undefined) await before;
    return () => {
      if (this.#tails.get(id) === held) this.#tails.delete(id);
      free();
    };
  }
}
