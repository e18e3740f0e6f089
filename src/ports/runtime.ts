/** Clock, ids and timers, for step bodies, the event bus, the heartbeat and tests. The loop itself never uses it (L7). */
export type Runtime = {
  /** Epoch milliseconds. */
  now(): number;
  /** A new UUIDv7; sorts by time. */
  newId(): string;
  /** Runs `fn` once after `ms`; returns how to cancel. A pending timer keeps the process alive only where `keepAlive` asks for it. */
  after(ms: number, fn: () => void, options?: { readonly keepAlive?: boolean }): () => void;
};
