import { type AgentMessage, type CompressAction, type Compressor, pinnedMessages } from "ennead";

/** Shows the newest turns of a conversation, and what is pinned. */
export class LastTurnsCompressor implements Compressor {
  readonly name = "last-turns";
  readonly #turns: number;

  constructor(turns: number) {
    this.#turns = turns;
  }

  compress(messages: readonly AgentMessage[]): CompressAction {
    const asked = messages.filter(({ role }) => role === "user");
    const first = asked.at(-this.#turns);
    if (first === undefined || first === asked[0]) return { type: "none" };
    const kept = new Set([...pinnedMessages(messages), ...messages.slice(messages.indexOf(first))]);
    return { type: "view", messages: messages.filter((message) => kept.has(message) || message.role === "system") };
  }
}
