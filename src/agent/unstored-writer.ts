import type { AgentMessage } from "../domain/message.js";
import type { Conversation } from "./conversation.js";
import type { WriteChange, Writer } from "./session-writer.js";

/** Keeps what a turn adds in its conversation only: there is no store, and no lease. */
export class UnstoredWriter implements Writer {
  readonly holdsLease = false;
  readonly storesAtEnd = false;
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  open(messages: readonly AgentMessage[], change?: WriteChange): Promise<void> {
    return this.add(messages, change);
  }

  add(messages: readonly AgentMessage[], change: WriteChange = {}): Promise<void> {
    this.#conversation.push(messages);
    if (change.compaction !== undefined) this.#conversation.compact(change.compaction);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  discard(): Promise<void> {
    return Promise.resolve();
  }

  onceStored(work: () => Promise<void>): Promise<void> {
    return work();
  }

  beat(): void {}
}
