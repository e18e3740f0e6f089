import type { TurnEvent, TurnEventOf, TurnEventType } from "../domain/event.js";
import { describeEvent } from "./event-line.js";
import { eventDifference } from "./event-difference.js";
import { traceDifference } from "./trace-difference.js";

type PartialOf<T> = T extends readonly (infer Item)[]
  ? readonly PartialOf<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: PartialOf<T[K]> }
    : T;

/** An event as far as a test cares: its type, and fields in any depth. What is not named is not compared; lists are compared whole. */
export type ExpectedEvent =
  | TurnEventType
  | { [T in TurnEventType]: { readonly type: T } & PartialOf<TurnEventOf<T>> }[TurnEventType];

/** Events, or a fake that recorded them. */
export type EventSource = readonly TurnEvent[] | { readonly events: readonly TurnEvent[] };

/** What of a trace is looked at. */
export type TraceOptions = {
  /** Types of events that are left out, such as chunks. */
  readonly without?: readonly TurnEventType[] | undefined;
};

/** One line an event, without ids of the turn, times and numbers: type, then what matters of it. Calls are named by id. */
export function traceOf(source: EventSource, { without = [] }: TraceOptions = {}): readonly string[] {
  return eventsOf(source)
    .filter(({ type }) => !without.includes(type))
    .map(describeEvent);
}

/** The lines of a golden trace that is typed in as one text: blank lines and indentation do not count. */
export function traceLines(expected: string | readonly string[]): readonly string[] {
  const lines = typeof expected === "string" ? expected.split("\n") : expected;
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

/** Throws unless `traceOf` gives exactly these lines; the error shows both, aligned. There is no way to have the golden trace rewritten. */
export function assertTrace(
  expected: string | readonly string[],
  actual: EventSource,
  options: TraceOptions = {},
): void {
  const difference = traceDifference(traceLines(expected), traceLines(traceOf(actual, options)));
  if (difference !== undefined) throw new Error(difference);
}

/**
 * Says how `actual` first departs from `expected`: index, what was expected there, and whether it is missing, comes later (out of
 * order), is a duplicate, or only differs in a field. Undefined when they agree.
 */
export function eventTraceMismatch(
  expected: readonly ExpectedEvent[],
  actual: readonly TurnEvent[],
): string | undefined {
  const length = Math.max(expected.length, actual.length);
  for (let index = 0; index < length; index++) {
    const want = expected[index];
    const got = actual[index];
    if (want !== undefined && got !== undefined && eventDifference(want, got) === undefined) continue;
    return `event ${index}: ${explain(expected, actual, index)}`;
  }
  return undefined;
}

/** Throws unless the events are exactly these, in this order; the error shows the mismatch and the whole trace. */
export function assertEventsEqual(expected: readonly ExpectedEvent[], actual: EventSource): void {
  const events = eventsOf(actual);
  const mismatch = eventTraceMismatch(expected, events);
  if (mismatch !== undefined) throw new Error(withTrace(mismatch, events));
}

/** Throws unless these events come in this order, others in between allowed; the error names the first one that does not come. */
export function assertEventsContain(expected: readonly ExpectedEvent[], actual: EventSource): void {
  const events = eventsOf(actual);
  let from = 0;
  for (const [index, want] of expected.entries()) {
    const found = events.findIndex((event, place) => place >= from && eventDifference(want, event) === undefined);
    if (found === -1) {
      const earlier = events.findIndex((event) => eventDifference(want, event) === undefined);
      const how = earlier === -1 ? "missing" : `out of order: it comes as event ${earlier}, before event ${from}`;
      throw new Error(withTrace(`expected event ${index} (${lineOf(want)}) is ${how}`, events));
    }
    from = found + 1;
  }
}

function explain(expected: readonly ExpectedEvent[], actual: readonly TurnEvent[], index: number): string {
  const want = expected[index];
  const got = actual[index];
  if (got === undefined) return want === undefined ? "" : `missing: expected ${lineOf(want)}, the trace ended`;
  const found = describeEvent(got);
  const repeated = expected[index - 1];
  const isRepeat = repeated !== undefined && eventDifference(repeated, got) === undefined;
  if (want === undefined) return `${isRepeat ? "duplicate" : "unexpected"}: ${found}, the trace should have ended`;
  const later = actual.findIndex((event, place) => place > index && eventDifference(want, event) === undefined);
  if (isRepeat && later !== -1) return `duplicate: ${found}, expected ${lineOf(want)}`;
  if (later !== -1) return `out of order: expected ${lineOf(want)}, which comes as event ${later}, got ${found}`;
  if (typeOf(want) === got.type) return `${got.type} differs: ${eventDifference(want, got)}`;
  return `missing: expected ${lineOf(want)}, got ${found}`;
}

function eventsOf(source: EventSource): readonly TurnEvent[] {
  return "events" in source ? source.events : source;
}

function typeOf(expected: ExpectedEvent): TurnEventType {
  return typeof expected === "string" ? expected : expected.type;
}

function lineOf(expected: ExpectedEvent): string {
  return typeof expected === "string" ? expected : JSON.stringify(expected);
}

function withTrace(mismatch: string, events: readonly TurnEvent[]): string {
  return [mismatch, "the trace was:", ...events.map((event, index) => `  ${index} ${describeEvent(event)}`)].join("\n");
}
