import type { TurnEvent } from "../domain/event.js";
import { textOf } from "../domain/message.js";

/** What of one reply's text a reader has been given: what was said is never taken back, only extended. */
export class ToldText {
  #told = "";
  /** What was told is void: more can be told only when the whole reply is known to begin like it. */
  #isVoid = false;

  /** The text that an event adds; empty where it adds none. */
  more(event: TurnEvent): string {
    if (event.type === "modelResponse") return this.#rest(textOf(event.message));
    if (event.type !== "streamChunk") return "";
    if (event.chunk.type === "reset") this.#isVoid = this.#told !== "";
    if (event.chunk.type !== "textDelta" || this.#isVoid) return "";
    this.#told += event.chunk.text;
    return event.chunk.text;
  }

  #rest(text: string): string {
    return text.startsWith(this.#told) ? text.slice(this.#told.length) : "";
  }
}
