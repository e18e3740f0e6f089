import { Breather } from "./breather.js";
import { ModelFailure } from "./model-failure.js";
import type { RequestWatch } from "./request-watch.js";

/**
 * Decodes a body as UTF-8 and hands over each piece as it arrives, never half a character, without a BOM in front. Fails beyond `maxBytes` (after decompression)
 * and when the connection breaks before the watch is settled. The body is cancelled however the reading ends.
 */
export async function readText(
  { body }: Pick<Response, "body">,
  watch: RequestWatch,
  maxBytes: number,
  onText: (text: string) => void,
): Promise<void> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  watch.onStop(cancel);
  const decoder = new TextDecoder();
  const breather = new Breather();
  let left = maxBytes;
  try {
    for (;;) {
      const bytes = await nextPiece(reader, watch);
      if (bytes === undefined) break;
      left -= bytes.byteLength;
      if (left < 0) throw new ModelFailure("response-parse", `the body is longer than ${maxBytes} bytes`);
      onText(decoder.decode(bytes, { stream: true }));
      const pause = breather.step();
      if (pause !== undefined) await pause;
    }
    onText(decoder.decode());
  } finally {
    cancel();
  }
}

async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  watch: RequestWatch,
): Promise<Uint8Array | undefined> {
  try {
    const { value } = await reader.read();
    watch.check();
    return watch.stopped ? undefined : value;
  } catch (error) {
    watch.check();
    if (watch.settled) return undefined;
    throw transportFailure("the connection broke while the reply was read", error);
  }
}

/** A network failure. Only error codes of the causes are kept: their texts may hold the address with its credentials. */
export function transportFailure(message: string, error: unknown): ModelFailure {
  const codes = codesOf(error);
  const kind = codes.some((code) => /TIMEOUT|TIMEDOUT/.test(code)) ? "timeout" : "transport";
  return new ModelFailure(kind, codes.length === 0 ? message : `${message} (${codes.join(", ")})`);
}

function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  let cause = error;
  for (let depth = 0; depth < 4 && cause instanceof Error; depth++) {
    const code: unknown = "code" in cause ? cause.code : undefined;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,48}$/.test(code) && !codes.includes(code)) codes.push(code);
    cause = cause.cause;
  }
  return codes;
}
