import type { MessageInput } from "../domain/message.js";

/** Which queue a message waits in: for the next model call, or for the moment when the turn would end. */
export type Queue = "steering" | "followUps";

/** How many of a queue's messages go into one round. */
export type QueueMode = "one" | "all";

/** Messages for a running turn, in the order they came. Each is taken once, or is there when the turn is over (L3). */
export class TurnInbox {
  #closed = false;
  /** Made for the first message. */
  #queues: { readonly [Q in Queue]: MessageInput[] } | undefined;

  /** Whether the turn takes no more messages. */
  get closed(): boolean {
    return this.#closed;
  }

  /** False where the turn is over, and the message was not taken. */
  add(queue: Queue, messages: readonly MessageInput[]): boolean {
    if (this.#closed) return false;
    this.#queues ??= { steering: [], followUps: [] };
    for (const message of messages) this.#queues[queue].push(message);
    return true;
  }

  waiting(queue: Queue): number {
    return this.#queues?.[queue].length ?? 0;
  }

  /** The oldest, or all; the taker answers for them from now on. */
  take(queue: Queue, mode: QueueMode): MessageInput[] {
    return this.#queues?.[queue].splice(0, mode === "one" ? 1 : Number.POSITIVE_INFINITY) ?? [];
  }

  /** Takes nothing more; hands out what nobody took, steering first. */
  close(): MessageInput[] {
    this.#closed = true;
    return [...this.take("steering", "all"), ...this.take("followUps", "all")];
  }
}
