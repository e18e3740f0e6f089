const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BRACE = 0x7d;

/**
 * The same fetch, whose bodies are bounded: JSON and error texts altogether, event streams by event. A body that is larger breaks off with
 * a RangeError.
 */
export function boundedFetch(fetch: typeof globalThis.fetch, maxBytes: number): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const body = response.body.pipeThrough(counted(maxBytes, { events: isEventStream(response) }));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.toLowerCase().includes("text/event-stream") === true;
}

function counted(maxBytes: number, { events }: { readonly events: boolean }): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let last = 0;
  let lastSaid = 0;
  const fitsByEvent = (chunk: Uint8Array): boolean => {
    for (const byte of chunk) {
      // An empty line ends an event.
      const blank = (byte === NEWLINE || byte === RETURN) && (last === NEWLINE || last === byte);
      bytes = blank ? 0 : bytes + 1;
      last = byte;
      if (byte !== NEWLINE && byte !== RETURN) lastSaid = byte;
      if (bytes > maxBytes) return false;
    }
    return true;
  };
  return new TransformStream({
    transform(chunk, controller) {
      const fits = events ? fitsByEvent(chunk) : (bytes += chunk.length) <= maxBytes;
      if (fits) controller.enqueue(chunk);
      else controller.error(new RangeError(`the answer has more than ${maxBytes} bytes`));
    },
    // The parser drops a last event that no empty line ends; one that is cut off within would move on where the stream is resumed.
    flush(controller) {
      if (!events) return;
      const whole = bytes > 0 && lastSaid === BRACE;
      controller.enqueue(
        Uint8Array.from([...(last === RETURN ? [NEWLINE] : []), ...(whole ? [NEWLINE, NEWLINE] : [])]),
      );
    },
  });
}
