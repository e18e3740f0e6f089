import { describe, expect, test } from "vitest";
import { NoopObserver } from "../../src/adapters/observers/noop.js";
import type { TurnEvent, TurnEventType } from "../../src/domain/event.js";
import type { Observer } from "../../src/ports/observer.js";
import { checkClaims, runClaims } from "../../src/testkit/claims/index.js";
import { observerClaims } from "../../src/testkit/claims/observer.js";
import { RecordingObserver } from "../../src/testkit/fakes/recording-observer.js";
import { sampleEvents } from "../../src/testkit/sample-events.js";
import { proveClaims } from "./prove-claims.js";

describe("the recording observer", () => {
  runClaims({ test, claims: observerClaims, make: () => ({ observer: new RecordingObserver() }) });
});

describe("NoopObserver", () => {
  runClaims({ test, claims: observerClaims, make: () => ({ observer: new NoopObserver() }) });
});

test("the samples hold one event of every type, each well-formed enough to be adopted and told apart", () => {
  const types = new Set(sampleEvents().map((event) => event.type));
  const all: Record<TurnEventType, true> = {
    turnStarted: true,
    toolsResolved: true,
    roundStarted: true,
    contextReplaced: true,
    sessionRedirect: true,
    messageStarted: true,
    streamChunk: true,
    messageAdded: true,
    modelResponse: true,
    toolCallPending: true,
    toolCallDeferred: true,
    toolCallStarted: true,
    toolCallProgress: true,
    toolCallResult: true,
    roundEnded: true,
    turnCompleted: true,
    turnStopped: true,
    turnAborted: true,
    turnFailed: true,
    custom: true,
  };
  expect([...types].sort()).toEqual(Object.keys(all).sort());
});

const observing = (onEvent: (event: TurnEvent) => void): Observer => ({ onEvent });

/** Each breaks the claim it is named after, and no other. */
const broken: Readonly<Record<string, () => Observer>> = {
  "observer-takes-every-event": () =>
    observing((event) => {
      if (event.type === "turnAborted") throw new Error("aborted");
    }),
  "observer-returns-nothing": () => {
    const later: unknown = Promise.resolve();
    return observing(() => later);
  },
  "observer-takes-unknown-events": () => {
    const known = new Set<string>(sampleEvents().map((event) => event.type));
    return observing((event) => {
      if (!known.has(event.type)) throw new TypeError(`unhandled ${event.type}`);
    });
  },
  "observer-leaves-events-alone": () =>
    observing((event) => {
      if (event.type === "messageAdded") Object.assign(event.message, { seen: true });
    }),
  "observer-takes-interleaved-turns": () => {
    let running: string | undefined;
    return observing((event) => {
      if (event.type === "turnStarted" && running !== undefined) throw new Error("one turn at a time");
      if (event.type === "turnStarted") running = event.turnId;
      if (["turnCompleted", "turnStopped", "turnAborted", "turnFailed"].includes(event.type)) running = undefined;
    });
  },
  "observer-takes-half-a-turn": () => {
    const started = new Set<string>();
    return observing((event) => {
      if (event.type === "turnStarted") started.add(event.turnId);
      else if (!started.has(event.turnId)) throw new Error("unknown turn");
    });
  },
  "observer-takes-hostile-text": () =>
    observing((event) => {
      if (!JSON.stringify(event, (_, value: unknown) => wellFormed(value))) throw new Error("no text");
    }),
};

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") encodeURIComponent(value);
  return value;
}

const makers = Object.entries(broken).map(([id, make]) => [id, () => ({ observer: make() })] as const);
proveClaims("observerClaims", {
  claims: observerClaims,
  sound: () => ({ observer: observing(() => undefined) }),
  broken: Object.fromEntries(makers),
});

test("an observer that counts on the start of a reply is found out too", async () => {
  const make = () => {
    const begun = new Set<string>();
    const observer = observing((event) => {
      if (event.type === "messageStarted") begun.add(`${event.turnId} ${event.messageId}`);
      if (event.type === "streamChunk" && !begun.has(`${event.turnId} ${event.messageId}`))
        throw new Error("what reply?");
    });
    return { observer };
  };
  const claims = observerClaims.filter(({ id }) => id === "observer-takes-half-a-turn");
  const { results } = await checkClaims({ claims, make });
  expect(results).toMatchObject([{ outcome: "failed", error: { message: "onEvent threw at streamChunk" } }]);
});
