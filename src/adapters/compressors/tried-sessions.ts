const MOST_SESSIONS = 1_000;
/** How much a conversation has to grow before it is tried again. */
const GROWTH = 1.1;

/** Remembers how large conversations were left by the last try, for the last thousand: what does not help is not done, and paid, every round. */
export class TriedSessions {
  readonly #sizes = new Map<string, number>();

  /** True until the conversation has grown by a tenth. */
  rests(sessionId: string, tokens: number): boolean {
    const size = this.#sizes.get(sessionId);
    return size !== undefined && tokens < size * GROWTH;
  }

  add(sessionId: string, tokens: number): void {
    this.#sizes.delete(sessionId);
    this.#sizes.set(sessionId, tokens);
    const [oldest] = this.#sizes.keys();
    if (this.#sizes.size > MOST_SESSIONS && oldest !== undefined) this.#sizes.delete(oldest);
  }
}
