import type { TurnEvent } from "../domain/event.js";
import { safeLabel } from "../domain/safe-label.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { EventListener, SteeringInput, TurnHandle } from "../ports/agent-api.js";
import { EventLog } from "./event-log.js";
import { EventReader } from "./event-reader.js";
import type { EventBus } from "./observers.js";
import { ToldText } from "./told-text.js";
import type { TurnControl } from "./turn-control.js";
import { steeringInput } from "./turn-input.js";

/** A turn with everything a person or program needs to follow, steer and end it. It starts in the next microtask (T8). */
export class RunningTurn implements TurnHandle {
  readonly id: string;
  readonly result: Promise<TurnResult>;
  readonly #bus: EventBus;
  readonly #control: TurnControl;
  readonly #history = new EventLog();
  readonly #readers = new Set<EventReader>();
  #over = false;

  constructor(id: string, bus: EventBus, control: TurnControl, start: () => Promise<TurnResult>) {
    this.id = id;
    this.#bus = bus;
    this.#control = control;
    // Before the observers: whoever of them adds a listener finds the event it was just given among the missed ones (T8).
    bus.listen((event) => this.#history.push(event), { first: true });
    this.result = Promise.resolve().then(start);
    // Whoever reads `result` sees the failure; nobody has to.
    this.result.then(
      () => this.#end(),
      () => this.#end(),
    );
  }

  subscribe(listener: EventListener): () => void {
    return this.#bus.listen(listener, { missed: this.#history.waiting() });
  }

  steer(message: SteeringInput): boolean {
    return this.#control.inbox.add("steering", steeringInput(message));
  }

  followUp(message: SteeringInput): boolean {
    return this.#control.inbox.add("followUps", steeringInput(message));
  }

  interrupt(): void {
    this.#control.interrupt();
  }

  abort(reason = "aborted"): void {
    this.#control.abort(typeof reason === "string" ? safeLabel(reason) : "aborted");
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    const reader = new EventReader();
    for (const event of this.#history.waiting()) reader.push(event);
    if (this.#over) reader.end();
    this.#readers.add(reader);
    const stop = this.#bus.listen((event) => reader.push(event));
    reader.onLeave(() => {
      stop();
      this.#readers.delete(reader);
    });
    return reader;
  }

  async *text(): AsyncIterable<string> {
    let told = new ToldText();
    for await (const event of this) {
      const piece = told.more(event);
      if (piece !== "") yield piece;
      if (event.type === "modelResponse") told = new ToldText();
    }
    // Who reads only the text learns of a failure all the same.
    await this.result;
  }

  #end(): void {
    this.#over = true;
    for (const reader of this.#readers) reader.end();
  }
}
