import { Defect, errorCategory } from "../domain/errors.js";
import { type EventBodies, isTerminal, type TurnEvent, type TurnEventType } from "../domain/event.js";
import { NONE } from "../domain/none.js";
import type { StreamChunk } from "../domain/stream-chunk.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { Observer } from "../ports/observer.js";

/** Someone who gets events. An observer is not awaited, whatever it returns. */
export type Receiver = { readonly kind: "observer" | "listener"; readonly deliver: (event: TurnEvent) => unknown };

/** How a listener joins. */
export type ListenOptions = { readonly first?: boolean; readonly missed?: readonly TurnEvent[] };

/** What a bus needs of its turn. `now` is the bus's own clock. */
export type EventBusOptions = {
  readonly turnId: string;
  readonly sessionId: string;
  readonly attempt: number;
  readonly now: () => number;
  readonly receivers: readonly Receiver[];
  readonly onSecondaryFailure: (failure: SecondaryFailure) => void;
};

/** Delivers the events of one turn in order, synchronously; whatever a receiver throws changes nothing for the others (T4). */
export class EventBus {
  readonly #options: EventBusOptions;
  #receivers: readonly Receiver[];
  #reported: Set<unknown> | undefined;
  #closing: PromiseLike<unknown>[] | undefined;
  #sessionId: string;
  #seq = 0;
  #started = false;
  #ended = false;
  #held: (() => void)[] | undefined;
  #burst: number | undefined;
  #delivering = false;
  /** Published during a delivery. */
  readonly #waiting: TurnEvent[] = [];
  #defect: Defect | undefined;

  constructor(options: EventBusOptions) {
    this.#options = options;
    this.#sessionId = options.sessionId;
    this.#receivers = options.receivers;
  }

  /** Adds a listener for the events from now on, also during a delivery; `first` puts it before all others, `missed` is handed to it at once. Returns how to remove it. */
  listen(deliver: (event: TurnEvent) => unknown, options: ListenOptions = {}): () => void {
    const receiver: Receiver = { kind: "listener", deliver };
    this.#receivers = options.first === true ? [receiver, ...this.#receivers] : [...this.#receivers, receiver];
    for (const event of options.missed ?? []) this.#offer(receiver, event);
    return () => {
      this.#receivers = this.#receivers.filter((other) => other !== receiver);
    };
  }

  /** A mistake in a test script that an observer raised; the turn rethrows it. */
  get defect(): Defect | undefined {
    return this.#defect;
  }

  /** Promises that listeners returned for the terminal event (T7). */
  get closing(): readonly PromiseLike<unknown>[] {
    return this.#closing ?? NONE;
  }

  /** Events from now on belong to the session the turn moved to. */
  moveTo(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  /** Whether the terminal event was published, or there will be none. */
  get ended(): boolean {
    return this.#ended;
  }

  /** A turn that ends before `turnStarted` publishes nothing, also not what waited for it (T2). */
  endUnstarted(): void {
    this.#ended = true;
    this.#held = undefined;
  }

  /** Nothing precedes `turnStarted`: what comes before waits for it (T2). Nothing follows the terminal event, whoever still holds a context of the turn (T3). */
  publish<T extends TurnEventType>(type: T, body: EventBodies[T]): void {
    if (this.#ended) return;
    if (!this.#started) return this.#begin(type, body);
    const seq = this.#seq++;
    if (isTerminal(type)) this.#ended = true;
    if (this.#receivers.length === 0) return;
    const { turnId, attempt, now } = this.#options;
    const event = { type, seq, turnId, sessionId: this.#sessionId, at: now(), attempt, ...body };
    this.#send(Object.freeze(event) as unknown as TurnEvent);
  }

  /** The same for the one event a turn has thousands of; it is not frozen. */
  publishChunk(messageId: string, chunk: StreamChunk): void {
    if (this.#ended) return;
    const seq = this.#seq++;
    if (this.#receivers.length === 0) return;
    const { turnId, attempt } = this.#options;
    this.#send({
      type: "streamChunk",
      seq,
      turnId,
      sessionId: this.#sessionId,
      at: this.#burst ?? this.#beginBurst(),
      attempt,
      messageId,
      chunk,
    });
  }

  #begin<T extends TurnEventType>(type: T, body: EventBodies[T]): void {
    if (type !== "turnStarted") {
      this.#held ??= [];
      this.#held.push(() => this.publish(type, body));
      return;
    }
    this.#started = true;
    this.publish(type, body);
    const held = this.#held;
    this.#held = undefined;
    for (const publish of held ?? []) publish();
  }

  /** Chunks handed over in one go share one look at the clock. */
  #beginBurst(): number {
    const at = this.#options.now();
    this.#burst = at;
    void Promise.resolve().then(() => {
      this.#burst = undefined;
    });
    return at;
  }

  #send(event: TurnEvent): void {
    const waiting = this.#waiting;
    if (this.#delivering) {
      waiting.push(event);
      return;
    }
    this.#delivering = true;
    this.#deliver(event);
    for (let i = 0; i < waiting.length; i++) this.#deliver(waiting[i] as TurnEvent);
    if (waiting.length > 0) waiting.length = 0;
    this.#delivering = false;
  }

  #deliver(event: TurnEvent): void {
    for (const receiver of this.#receivers) this.#offer(receiver, event);
  }

  #offer(receiver: Receiver, event: TurnEvent): void {
    try {
      const answer = receiver.deliver(event);
      if (isThenable(answer)) this.#follow(receiver, event, answer);
    } catch (error) {
      this.#report(receiver, event, error);
    }
  }

  #follow(receiver: Receiver, event: TurnEvent, answer: PromiseLike<unknown>): void {
    const settled = answer.then(undefined, (error: unknown) => this.#report(receiver, event, error));
    if (receiver.kind === "listener" && isTerminal(event.type)) (this.#closing ??= []).push(settled);
  }

  #report(receiver: Receiver, event: TurnEvent, error: unknown): void {
    if (Defect.is(error)) this.#defect ??= error;
    this.#reported ??= new Set();
    if (this.#reported.has(receiver)) return;
    this.#reported.add(receiver);
    this.#options.onSecondaryFailure({
      stage: event.type,
      operation: receiver.kind,
      errorCategory: errorCategory(error),
    });
  }
}

/** Each observer once, in order. */
export function receiversOf(observers: readonly Observer[]): readonly Receiver[] {
  return [...new Set(observers)].map((observer) => ({ kind: "observer", deliver: (event) => observer.onEvent(event) }));
}

/** True for a promise of any kind. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
