import type { TestRuntime } from "../../../src/testkit/index.js";

/** How a paced body goes on: virtual time before each piece, and behind the last one, where it stays open. */
export type Pace = { readonly everyMs?: number; readonly silenceMs?: number };

/**
 * A `fetch` whose body moves the virtual clock itself: each piece is given only when the reader waits for it, `everyMs` later. `cancelled`
 * settles when the reader has let go of the body.
 */
export function paced(
  runtime: TestRuntime,
  pieces: readonly string[],
  { everyMs = 0, silenceMs = 0 }: Pace = {},
): { readonly fetch: typeof globalThis.fetch; readonly cancelled: Promise<void> } {
  const cancelled = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  const rest = [...pieces];
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = rest.shift();
        await runtime.advance(piece === undefined ? silenceMs : everyMs);
        if (piece !== undefined) controller.enqueue(encoder.encode(piece));
      },
      cancel: () => cancelled.resolve(),
    },
    { highWaterMark: 0 },
  );
  return { fetch: () => Promise.resolve(new Response(body)), cancelled: cancelled.promise };
}
