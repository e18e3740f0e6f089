/** Clock, ids and timers, for step bodies, the event bus, the heartbeat and tests. The loop itself never uses it (L7). */
export type Runtime = {
  /** Epoch milliseconds, for stamps: the clock may be set back. */
  now(): number;
  /** Milliseconds since some moment, for durations: it never goes back. */
  elapsed(): number;
  /** A new UUIDv7; sorts by time. */
  newId(): string;
  /** Runs `fn` once after `ms`, never where that is infinite; returns how to cancel. A pending timer keeps the process alive only where `keepAlive` asks for it. */
  after(ms: number, fn: () => void, options?: { readonly keepAlive?: boolean }): () => void;
};
