import type { CrashReport, RecordingObserver } from "ennead/testkit";
import { enneadMatchers } from "ennead/testkit/vitest";
import { expect } from "vitest";

// Compiled, never run: what is wrong here must be told by the compiler, and what is right must not.
expect.extend(enneadMatchers);

export async function matchers(observer: RecordingObserver, report: CrashReport): Promise<void> {
  expect(observer).toMatchTrace("turnStarted", { without: ["streamChunk"] });
  expect(observer.events).not.toMatchTrace(["turnStarted"]);
  expect(observer).toEqualEvents(["turnStarted", { type: "turnStopped", reason: "told to" }]);
  expect(observer).toContainEvents([{ type: "toolCallResult", exchange: { call: { id: "c1" } }, isError: true }]);
  await expect(Promise.resolve([])).resolves.toKeepTranscriptLaw({ pending: ["c1"] });
  expect(report).toSurviveEveryCrash();

  // @ts-expect-error a trace is text
  expect(observer).toMatchTrace(1);
  // @ts-expect-error there is no such type of event
  expect(observer).toMatchTrace("", { without: ["textdelta"] });
  // @ts-expect-error there is no such event
  expect(observer).toEqualEvents(["turnstarted"]);
  // @ts-expect-error an event of this type has no such field
  expect(observer).toContainEvents([{ type: "turnStarted", isError: true }]);
  // @ts-expect-error events are a list
  expect(observer).toContainEvents("turnStarted");
  // @ts-expect-error the law has no such option
  expect([]).toKeepTranscriptLaw({ waiting: ["c1"] });
  // @ts-expect-error it takes nothing
  expect(report).toSurviveEveryCrash(1);
  // @ts-expect-error no matcher has this name
  expect(report).toSurviveCrashes();
}
