import type { TurnEvent } from "../domain/event.js";

/**
 * Watches turns. Called synchronously, in event order, never concurrently for one turn; turns of other sessions interleave. Whatever
 * it throws, or a promise it returns rejects with, changes nothing for anyone (T4). Events are shared: read them, keep no chunk.
 */
export interface Observer {
  onEvent(event: TurnEvent): void;
}
