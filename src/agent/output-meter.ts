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

  /** The limit that keeps a message out, if one does. A reply needs room for the results of its calls too: what a tool does is not done for nothing. */
  refusal(message: AgentMessage): OutputLimit | undefined {
    const { maxOutputMessages, maxOutputBytes } = this.#limits;
    const results = isMessage(message) ? toolCallsOf(message).length : 0;
    if (this.#messages + 1 + results > maxOutputMessages) return "messages";
    if (maxOutputBytes === Number.POSITIVE_INFINITY) return undefined;
    const bytes = bytesOf(message);
    if (bytes === undefined) return "encoding";
    return this.#bytes + bytes > maxOutputBytes ? "bytes" : undefined;
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
