import { expect, test } from "vitest";
import { Defect } from "../../src/domain/errors.js";
import type { TurnEvent } from "../../src/domain/event.js";
import { RecordingObserver } from "../../src/testkit/fakes/recording-observer.js";
import { sampleEvents } from "../../src/testkit/sample-events.js";

test("every event is kept in order, as a frozen copy", () => {
  const observer = new RecordingObserver();
  const events = sampleEvents();
  for (const event of events) observer.onEvent(event);
  Object.assign(events[0] as TurnEvent, { sessionId: "changed" });
  expect(observer.events).toEqual(sampleEvents());
  expect(observer.events.every((event) => Object.isFrozen(event))).toBe(true);
  expect(observer.ofType("streamChunk").map((event) => event.chunk.type)).toEqual(["textDelta"]);
});

test("an observer told to throw at a type records the event first, and misses it aloud", () => {
  const observer = new RecordingObserver().throwOn("roundStarted").throwOn("turnFailed", "mine");
  expect(() => observer.assertDone()).toThrow("no roundStarted came");
  const thrown: unknown[] = [];
  for (const event of sampleEvents()) {
    try {
      observer.onEvent(event);
    } catch (error) {
      thrown.push(error);
    }
  }
  expect(thrown).toEqual([new Error("observer told to throw on roundStarted"), "mine"]);
  expect(observer.events).toHaveLength(sampleEvents().length);
  observer.assertDone();
});

test("an event that JSON cannot hold is a defect", () => {
  const event: object = { ...sampleEvents()[0], extra: 1n };
  expect(() => new RecordingObserver().onEvent(event as TurnEvent)).toThrow(Defect);
});

test("the list of events is a snapshot", () => {
  const observer = new RecordingObserver();
  const before = observer.events;
  for (const event of sampleEvents()) observer.onEvent(event);
  expect(before).toEqual([]);
});
