/** Tells a listener; what it throws, or rejects with, is ignored: a listener cannot break a connection. */
export function tellQuietly<T>(listener: ((news: T) => unknown) | undefined, news: T): void {
  try {
    void Promise.resolve(listener?.(news)).catch(() => undefined);
  } catch {
    // It threw at once.
  }
}
