/** So many steps may follow each other before the rest of the process has its turn. */
const STEPS = 64;

/** Lets timers, aborts and other work in while a stream is read that never waits for anything: such a one would keep them out for ever. */
export class Breather {
  #steps = 0;

  /** After each step; what it gives, once in a while, must be awaited. */
  step(): Promise<void> | undefined {
    this.#steps = (this.#steps + 1) % STEPS;
    return this.#steps === 0 ? nextMacrotask() : undefined;
  }
}

function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if ("setImmediate" in globalThis) setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
