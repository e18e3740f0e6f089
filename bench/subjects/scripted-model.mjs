import { StreamAccumulator } from "ennead";

/**
 * A model without latency: round n of a turn streams the n-th reply of the script, all chunks in one go. `stream` is what a hand-written
 * loop reads; `chatStreaming` is the same as a model port, which also owes the response, built as every adapter of the package does.
 */
export class ScriptedModel {
  requests = 0;
  messagesSent = 0;
  #replies;

  /** `replies` holds the chunks of each round. */
  constructor(replies) {
    this.#replies = replies;
  }

  async stream(request, onChunk) {
    for (const chunk of this.#take(request)) onChunk(chunk);
  }

  async chatStreaming(request, onChunk) {
    const accumulator = new StreamAccumulator();
    for (const chunk of this.#take(request)) {
      accumulator.push(chunk);
      onChunk(chunk);
    }
    return accumulator.toResponse({ malformed: "mark" });
  }

  async chat() {
    throw new Error("the benchmark streams");
  }

  #take({ messages, round }) {
    const chunks = this.#replies[round - 1];
    if (chunks === undefined) throw new Error(`the script has no reply for round ${round}`);
    this.requests += 1;
    this.messagesSent += messages.length;
    return chunks;
  }
}
