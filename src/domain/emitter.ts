/** Tells values to whoever listens, at once and in the order of subscription. */
export type Emitter<T> = {
  /** Each subscription hears every value emitted from now on. Returns how to stop, also in the middle of an `emit`. */
  subscribe(listener: (value: T) => void): () => void;
  /** All listeners hear the value even if some throw; then throws what they threw, several of them as one `AggregateError`. */
  emit(value: T): void;
  /** Lets go of every listener: nobody hears anything any more, and nobody can subscribe. Idempotent. */
  close(): void;
};

/** An emitter for hosts that hand the events of a turn on to many readers. It keeps no value: who comes late has missed the earlier ones. */
export function createEmitter<T>(): Emitter<T> {
  const subscriptions = new Set<{ readonly listener: (value: T) => void }>();
  let closed = false;
  return {
    subscribe(listener) {
      const subscription = { listener };
      if (!closed) subscriptions.add(subscription);
      return () => void subscriptions.delete(subscription);
    },
    emit(value) {
      const failures: unknown[] = [];
      for (const subscription of [...subscriptions]) {
        if (!subscriptions.has(subscription)) continue;
        try {
          subscription.listener(value);
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length === 1) throw failures[0];
      if (failures.length > 1) throw new AggregateError(failures, "several listeners failed");
    },
    close() {
      closed = true;
      subscriptions.clear();
    },
  };
}
