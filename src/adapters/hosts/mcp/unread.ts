import { isEventStream } from "../../tools/mcp/bounded-fetch.js";

/**
 * How many messages of a request's answer nobody has read yet: the SDK takes what it puts into a stream for sent. What was not counted when it was
 * put there may count as read, so that there may be a few more than it says.
 */
export class Unread {
  readonly #counts = new WeakMap<Request, number>();

  /** None for a request that came by other ways. */
  of(request: Request | undefined): number {
    return request === undefined ? 0 : (this.#counts.get(request) ?? 0);
  }

  add(request: Request | undefined): void {
    if (request !== undefined) this.#counts.set(request, this.of(request) + 1);
  }

  /** The same answer, which counts what is read of it; one that is no stream of events comes whole. */
  counting(request: Request, response: Response): Response {
    const { body, status, statusText, headers } = response;
    if (body === null || !isEventStream(response)) return response;
    const read = new TransformStream<Uint8Array, Uint8Array>(
      {
        transform: (chunk, controller) => {
          this.#counts.set(request, Math.max(0, this.of(request) - 1));
          controller.enqueue(chunk);
        },
      },
      undefined,
      { highWaterMark: 0 },
    );
    return new Response(body.pipeThrough(read), { status, statusText, headers });
  }
}
