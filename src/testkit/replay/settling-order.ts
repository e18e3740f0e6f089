/** Lets calls that run together end in the order in which they did when they were recorded, which is that of their lines. */
export class SettlingOrder {
  readonly #running = new Map<number, Promise<void>>();

  /** Runs the call of a line; what it comes to is told when no call of an earlier line runs any more. */
  async settle<T>(line: number, run: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(line, promise);
    try {
      return await run();
    } finally {
      for (let earlier = this.#before(line); earlier !== undefined; earlier = this.#before(line)) await earlier;
      this.#running.delete(line);
      resolve();
    }
  }

  #before(line: number): Promise<void> | undefined {
    for (const [other, ended] of this.#running) if (other < line) return ended;
    return undefined;
  }
}
