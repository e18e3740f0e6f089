import { expect, test } from "vitest";
import type { TurnEvent } from "../../src/domain/event.js";
import { RecordingObserver } from "../../src/testkit/fakes/recording-observer.js";
import { sampleEvents, unknownEvent } from "../../src/testkit/sample-events.js";
import { assertEventsContain, assertEventsEqual, eventTraceMismatch, traceOf } from "../../src/testkit/traces.js";

const stamp = { turnId: "t", sessionId: "s", at: 5, attempt: 0 };
const events: readonly TurnEvent[] = [
  { type: "turnStarted", seq: 0, ...stamp },
  { type: "roundStarted", round: 1, seq: 1, ...stamp },
  { type: "custom", source: "hook", label: "seen", data: { tags: ["a", "b"], size: { width: 1 } }, seq: 2, ...stamp },
  { type: "roundEnded", round: 1, usage: {}, seq: 3, ...stamp },
  { type: "turnFailed", category: "ModelError(transport)", seq: 4, ...stamp },
];
const types = events.map((event) => event.type);
const without = (index: number): TurnEvent[] => events.toSpliced(index, 1);

test("a trace has one line an event, without times, numbers and ids of the turn", () => {
  expect(traceOf(events)).toEqual([
    "turnStarted",
    "roundStarted 1",
    "custom hook seen",
    "roundEnded 1",
    "turnFailed ModelError(transport)",
  ]);
});

test("every event type has a line, an unknown type gives its name, and hostile text stays on its line", () => {
  const observer = new RecordingObserver();
  for (const event of sampleEvents({ text: "a\n\u001b[2J\u202eb" })) observer.onEvent(event);
  const lines = traceOf(observer);
  expect(lines).toHaveLength(observer.events.length);
  expect(lines.filter((line) => /[\n\u001b\u202e]/u.test(line))).toEqual([]);
  expect(lines).toContain("toolCallStarted call-1 weather");
  expect(lines).toContain("toolCallResult call-1 completed");
  expect(lines).toContain('messageAdded user "a[2Jb"');
  expect(traceOf([unknownEvent()])).toEqual(["somethingNew"]);
});

test("seq, ids and times are compared only where the expected event names them", () => {
  expect(eventTraceMismatch(types, events)).toBeUndefined();
  expect(eventTraceMismatch([{ type: "turnStarted", at: 5, seq: 0 }], events.slice(0, 1))).toBeUndefined();
  expect(eventTraceMismatch([{ type: "turnStarted", at: 6 }], events.slice(0, 1))).toBe(
    "event 0: turnStarted differs: at is 5, not 6",
  );
});

test("fields are compared in depth as far as they are named, lists as a whole", () => {
  const custom = events.slice(2, 3);
  expect(eventTraceMismatch([{ type: "custom", data: { size: { width: 1 } } }], custom)).toBeUndefined();
  expect(eventTraceMismatch([{ type: "custom", data: { size: { width: 2 } } }], custom)).toBe(
    "event 0: custom differs: data.size.width is 1, not 2",
  );
  expect(eventTraceMismatch([{ type: "custom", data: { tags: ["a"] } }], custom)).toContain(
    "data.tags has 2 items, not 1",
  );
  expect(eventTraceMismatch([{ type: "custom", data: { none: 1 } }], custom)).toContain("data.none is absent, not 1");
});

test("the mismatch names the first differing index and says missing, duplicate, unexpected or out of order", () => {
  const first = events[0] as TurnEvent;
  expect(eventTraceMismatch(types, without(2))).toBe("event 2: missing: expected custom, got roundEnded 1");
  expect(eventTraceMismatch(types, without(4))).toBe("event 4: missing: expected turnFailed, the trace ended");
  expect(eventTraceMismatch(types, events.toSpliced(0, 0, first))).toBe(
    "event 1: duplicate: turnStarted, expected roundStarted",
  );
  expect(eventTraceMismatch(["turnStarted"], [first, first])).toBe(
    "event 1: duplicate: turnStarted, the trace should have ended",
  );
  expect(eventTraceMismatch(["turnStarted"], events.slice(0, 2))).toBe(
    "event 1: unexpected: roundStarted 1, the trace should have ended",
  );
  const swapped = [events[0], events[2], events[1], events[3], events[4]] as TurnEvent[];
  expect(eventTraceMismatch(types, swapped)).toBe(
    "event 1: out of order: expected roundStarted, which comes as event 2, got custom hook seen",
  );
});

test("an equality that fails shows the mismatch and the trace", () => {
  assertEventsEqual(types, events);
  expect(() => assertEventsEqual(types, without(0))).toThrow(
    "event 0: missing: expected turnStarted, got roundStarted 1\nthe trace was:\n  0 roundStarted 1",
  );
});

test("contained events must all come, in order, with others allowed in between", () => {
  assertEventsContain(["turnStarted", { type: "roundEnded", round: 1 }, "turnFailed"], events);
  assertEventsContain([], events);
  expect(() => assertEventsContain(["turnStarted", "turnCompleted"], events)).toThrow(
    "expected event 1 (turnCompleted) is missing",
  );
  expect(() => assertEventsContain(["roundEnded", "custom"], events)).toThrow(
    "expected event 1 (custom) is out of order: it comes as event 2, before event 4",
  );
  expect(() => assertEventsContain(["turnStarted", "turnStarted"], events)).toThrow(
    "expected event 1 (turnStarted) is",
  );
});
