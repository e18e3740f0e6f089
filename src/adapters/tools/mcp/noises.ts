import { safeLabel } from "../../../domain/safe-label.js";

const MAX_NOISES = 20;

/** What one connection is told of beside answers: each text once. Until `tell` it is kept, since the attempt to connect may fail for the same reason. */
export class Noises {
  readonly #onNoise: (reason: string) => void;
  readonly #known = new Set<string>();
  #isOpen = false;

  constructor(onNoise: (reason: string) => void) {
    this.#onNoise = onNoise;
  }

  add(message: string, reason: string): void {
    // Answers and progress that come too late are to be expected.
    if (/^Received a (?:progress notification|response) for an unknown/.test(message)) return;
    const label = safeLabel(reason);
    if (this.#known.has(label) || this.#known.size >= MAX_NOISES) return;
    this.#known.add(label);
    if (this.#isOpen) this.#onNoise(label);
  }

  /** Tells what was kept, but for what is told otherwise, and from now on whatever comes. */
  tell(but?: string): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const label of this.#known) if (but === undefined || label !== safeLabel(but)) this.#onNoise(label);
  }
}
