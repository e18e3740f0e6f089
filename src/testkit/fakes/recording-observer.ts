import { Defect } from "../../domain/errors.js";
import type { TurnEvent, TurnEventOf, TurnEventType } from "../../domain/event.js";
import type { Observer } from "../../ports/observer.js";
import { frozen } from "./frozen.js";

/** Keeps a frozen copy of every event, in the order in which they came. */
export class RecordingObserver implements Observer {
  readonly #events: TurnEvent[] = [];
  readonly #throws = new Map<TurnEventType, { readonly error: unknown; fired: boolean }>();

  /** From now on throws at every event of this type, after recording it. */
  throwOn(type: TurnEventType, error: unknown = new Error(`observer told to throw on ${type}`)): this {
    this.#throws.set(type, { error, fired: false });
    return this;
  }

  onEvent(event: TurnEvent): void {
    this.#events.push(frozen(event, "event"));
    const plan = this.#throws.get(event.type);
    if (plan === undefined) return;
    plan.fired = true;
    throw plan.error;
  }

  get events(): readonly TurnEvent[] {
    return [...this.#events];
  }

  /** The events of one type, in order. */
  ofType<T extends TurnEventType>(type: T): readonly TurnEventOf<T>[] {
    return this.#events.filter((event): event is TurnEvent & TurnEventOf<T> => event.type === type);
  }

  /** Throws a `Defect` when an event to throw on never came. */
  assertDone(): void {
    for (const [type, { fired }] of this.#throws) {
      if (!fired) throw new Defect(`recording_observer_unfinished: no ${type} came`);
    }
  }
}
