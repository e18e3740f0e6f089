import { isTerminal, type TurnEvent } from "../domain/event.js";
import { EventLog } from "./event-log.js";

/** One reader of a turn at its own pace. Leaving it early ends the reading only. */
export class EventReader implements AsyncIterableIterator<TurnEvent> {
  readonly #log = new EventLog();
  #wakes: (() => void)[] = [];
  #ended = false;
  #leave: () => void = () => undefined;

  /** `stop` is called when the reader leaves. */
  onLeave(stop: () => void): void {
    this.#leave = stop;
  }

  /** Takes the next event of the turn. */
  push(event: TurnEvent): void {
    this.#log.push(event);
    if (isTerminal(event.type)) this.#ended = true;
    this.#wakeUp();
  }

  /** No more events will come. */
  end(): void {
    this.#ended = true;
    this.#wakeUp();
  }

  async next(): Promise<IteratorResult<TurnEvent, undefined>> {
    for (;;) {
      const event = this.#log.take();
      if (event !== undefined) return { done: false, value: event };
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wakes.push(resolve);
      });
    }
  }

  return(): Promise<IteratorResult<TurnEvent, undefined>> {
    this.#leave();
    this.end();
    while (this.#log.take() !== undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wakeUp(): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }
}
