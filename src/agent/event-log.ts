import type { TurnEvent, TurnEventOf } from "../domain/event.js";
import type { StreamChunk } from "../domain/stream-chunk.js";

const UNMERGED_CHUNKS = 1_000;

/** Events that wait for a reader; beyond 1,000 chunk events, neighbouring ones are merged, so that a slow reader costs little (T8). */
export class EventLog {
  #events: TurnEvent[] = [];
  #chunks = 0;
  #start = 0;

  push(event: TurnEvent): void {
    if (event.type === "streamChunk" && this.#chunks >= UNMERGED_CHUNKS) {
      const last = this.#start < this.#events.length ? this.#events.at(-1) : undefined;
      const merged = last === undefined ? undefined : mergedEvent(last, event);
      if (merged !== undefined) {
        this.#events[this.#events.length - 1] = merged;
        return;
      }
    }
    if (event.type === "streamChunk") this.#chunks += 1;
    this.#events.push(event);
  }

  /** The oldest event nobody took. */
  take(): TurnEvent | undefined {
    const event = this.#events[this.#start];
    if (event === undefined) return undefined;
    this.#start += 1;
    if (event.type === "streamChunk") this.#chunks -= 1;
    if (this.#start === this.#events.length) {
      this.#events = [];
      this.#start = 0;
    }
    return event;
  }

  /** What waits, oldest first; nothing is taken. */
  waiting(): TurnEvent[] {
    return this.#events.slice(this.#start);
  }
}

function mergedEvent(last: TurnEvent, next: TurnEventOf<"streamChunk">): TurnEvent | undefined {
  if (last.type !== "streamChunk" || last.messageId !== next.messageId) return undefined;
  const chunk = mergedChunk(last.chunk, next.chunk);
  return chunk === undefined ? undefined : { ...next, chunk };
}

/** Two deltas as one, where nothing is lost by it. */
function mergedChunk(a: StreamChunk, b: StreamChunk): StreamChunk | undefined {
  if (a.type === "textDelta" && b.type === "textDelta") {
    return isPlain(a) && isPlain(b) && a.part === b.part ? { ...a, text: a.text + b.text } : undefined;
  }
  if (a.type === "reasoningDelta" && b.type === "reasoningDelta") {
    const plain =
      isPlain(a) && isPlain(b) && a.signature === undefined && b.signature === undefined && a.redacted === b.redacted;
    return plain && a.part === b.part ? { ...a, text: a.text + b.text } : undefined;
  }
  if (a.type === "toolCallDelta" && b.type === "toolCallDelta") {
    if (!isPlain(a) || !isPlain(b) || a.index !== b.index || b.id !== undefined || b.name !== undefined)
      return undefined;
    return { ...a, argumentsDelta: (a.argumentsDelta ?? "") + (b.argumentsDelta ?? "") };
  }
  return undefined;
}

function isPlain(chunk: { readonly providerData?: unknown }): boolean {
  return chunk.providerData === undefined;
}
