import { utf8Bytes } from "../domain/estimate.js";
import type { Limits } from "../domain/limits.js";
import { type AgentMessage, isMessage, toolCallsOf } from "../domain/message.js";

/** Which output limit a message would exceed; `"encoding"`: its size cannot be told, because it is too large to be written as text. */
export type OutputLimit = "messages" | "bytes" | "encoding";

/** Counts the messages that a turn adds against its output limits (L2). */
export class OutputMeter {
  readonly #limits: Pick<Limits, "maxOutputMessages" | "maxOutputBytes">;
  #messages = 0;
  #bytes = 0;

  constructor(limits: Pick<Limits, "maxOutputMessages" | "maxOutputBytes">) {
    this.#limits = limits;
  }

  /** The limit that keeps messages out, all of them or none. A reply needs room for the results of its calls too: what a tool does is not done for nothing. */
  refusal(...messages: readonly AgentMessage[]): OutputLimit | undefined {
    const { maxOutputMessages, maxOutputBytes } = this.#limits;
    let count = this.#messages;
    let bytes = this.#bytes;
    for (const message of messages) {
      count += 1 + (isMessage(message) ? toolCallsOf(message).length : 0);
      if (count > maxOutputMessages) return "messages";
      if (maxOutputBytes === Number.POSITIVE_INFINITY) continue;
      const own = bytesOf(message);
      if (own === undefined) return "encoding";
      bytes += own;
      if (bytes > maxOutputBytes) return "bytes";
    }
    return undefined;
  }

  /** The limit that lets in no reply at all, if one does. */
  get full(): OutputLimit | undefined {
    if (this.#messages + 1 > this.#limits.maxOutputMessages) return "messages";
    return this.room <= 0 ? "bytes" : undefined;
  }

  /** Bytes that a message may still have. */
  get room(): number {
    return this.#limits.maxOutputBytes - this.#bytes;
  }

  /** Counts a message that was added. */
  add(message: AgentMessage): void {
    this.#messages += 1;
    if (this.#limits.maxOutputBytes !== Number.POSITIVE_INFINITY) this.#bytes += bytesOf(message) ?? 0;
  }
}

function bytesOf(message: AgentMessage): number | undefined {
  try {
    return utf8Bytes(JSON.stringify(message));
  } catch {
    return undefined;
  }
}

/** The meter of a turn; none where there is no limit. */
export function outputMeter(limits: Limits): OutputMeter | undefined {
  const { maxOutputMessages, maxOutputBytes } = limits;
  const none = maxOutputMessages === Number.POSITIVE_INFINITY && maxOutputBytes === Number.POSITIVE_INFINITY;
  return none ? undefined : new OutputMeter(limits);
}
