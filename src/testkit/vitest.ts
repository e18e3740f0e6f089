import type {} from "vitest";
import type { CrashReport } from "./crash/crash-report.js";
import { assertTranscriptLaw, type LawOptions, type Transcript } from "./law.js";
import {
  assertEventsContain,
  assertEventsEqual,
  assertTrace,
  type EventSource,
  type ExpectedEvent,
  type TraceOptions,
} from "./traces.js";

/** What a matcher tells its runner. */
export type MatcherOutcome = { readonly pass: boolean; readonly message: () => string };

/** Passes unless the assertion throws; the message is the error's, and for the opposite what was not to be. */
function outcomeOf(assertion: () => void, opposite: string): MatcherOutcome {
  try {
    assertion();
    return { pass: true, message: () => opposite };
  } catch (error) {
    return { pass: false, message: () => (error instanceof Error ? error.message : String(error)) };
  }
}

/** Matchers for `expect.extend`, of vitest and of whoever has the same: `expect.extend(enneadMatchers)`. */
export const enneadMatchers = {
  /** The events of a turn, or a `RecordingObserver`, have exactly this golden trace. */
  toMatchTrace(actual: EventSource, expected: string | readonly string[], options?: TraceOptions): MatcherOutcome {
    return outcomeOf(() => assertTrace(expected, actual, options), "the trace is the one it was not to be");
  },
  /** Events are exactly these, each as far as it is described. */
  toEqualEvents(actual: EventSource, expected: readonly ExpectedEvent[]): MatcherOutcome {
    return outcomeOf(() => assertEventsEqual(expected, actual), "the events are those they were not to be");
  },
  /** These events come in this order, others in between. */
  toContainEvents(actual: EventSource, expected: readonly ExpectedEvent[]): MatcherOutcome {
    return outcomeOf(
      () => assertEventsContain(expected, actual),
      "the events that were not to come came, in this order",
    );
  },
  /** Messages, or a session, keep the law of transcripts. */
  toKeepTranscriptLaw(actual: Transcript, options?: LawOptions): MatcherOutcome {
    return outcomeOf(() => assertTranscriptLaw(actual, options), "the transcript keeps the law, and was not to");
  },
  /** A report of `crashPoints` has no fault. */
  toSurviveEveryCrash(actual: CrashReport): MatcherOutcome {
    return { pass: actual.faults.length === 0, message: () => actual.text };
  },
};

declare module "vitest" {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** The events of a turn, or a `RecordingObserver`, have exactly this golden trace. */
    toMatchTrace(expected: string | readonly string[], options?: TraceOptions): R;
    /** Events are exactly these, each as far as it is described. */
    toEqualEvents(expected: readonly ExpectedEvent[]): R;
    /** These events come in this order, others in between. */
    toContainEvents(expected: readonly ExpectedEvent[]): R;
    /** Messages, or a session, keep the law of transcripts. */
    toKeepTranscriptLaw(options?: LawOptions): R;
    /** A report of `crashPoints` has no fault. */
    toSurviveEveryCrash(): R;
  }
}
