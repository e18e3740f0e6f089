import { Breather } from "../wire/breather.js";
import { ModelFailure } from "../wire/model-failure.js";
import type { RequestWatch } from "../wire/request-watch.js";

/**
 * Hands over each value of an application's stream until it ends, or until the watch ends it, whether the stream heeds that or not. The
 * stream is told to close however the reading ends; nobody waits for it, and what it throws then is nobody's failure.
 */
export async function eachOf(stream: unknown, watch: RequestWatch, take: (value: unknown) => void): Promise<void> {
  const iterator = iteratorOf(stream);
  const breather = new Breather();
  let isOver = false;
  try {
    for (;;) {
      const next = await nextOf(iterator, watch);
      if (next === undefined) return;
      isOver = next.done === true;
      if (isOver) return;
      take(next.value);
      const pause = breather.step();
      if (pause !== undefined) await pause;
    }
  } finally {
    if (!isOver) close(iterator);
  }
}

type Next = { readonly done?: boolean | undefined; readonly value?: unknown };

/** The next result; undefined where the reply is whole and no more is waited for. */
async function nextOf(iterator: AsyncIterator<unknown>, watch: RequestWatch): Promise<Next | undefined> {
  try {
    const next: unknown = await watch.guard(async () => await iterator.next());
    if (typeof next === "object" && next !== null) return next;
    throw new ModelFailure("response-parse", "the stream gave no result of an iterator");
  } catch (error) {
    watch.check();
    if (watch.settled) return undefined;
    throw error;
  }
}

function iteratorOf(stream: unknown): AsyncIterator<unknown> {
  if (!isAsyncIterable(stream)) throw new ModelFailure("response-parse", "the function gave no stream of chunks");
  return stream[Symbol.asyncIterator]();
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof value[Symbol.asyncIterator] === "function"
  );
}

function close(iterator: AsyncIterator<unknown>): void {
  const closing = async (): Promise<unknown> => await iterator.return?.();
  closing().catch(() => undefined);
}

/** Tells a stream that came when nobody wanted it any more to close. */
export function abandon(stream: unknown): void {
  if (isAsyncIterable(stream)) close(stream[Symbol.asyncIterator]());
}
