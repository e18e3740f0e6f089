import type { TurnEvent } from "../../domain/event.js";
import type { Observer } from "../../ports/observer.js";
import { sampleEvents, unknownEvent } from "../sample-events.js";
import type { Claim, Fixture } from "./claim.js";
import { expectEqual, expectThat } from "./expectations.js";

/** An observer that has seen no event yet. */
export type ObserverFixture = Fixture & { readonly observer: Observer };

/** Text that has broken terminals, logs and encoders: control and bidirectional characters, lone surrogates, markup, a long line. */
export const HOSTILE_TEXTS: readonly string[] = [
  "\u0000\u0007\u001b[2J\u001b]0;title\u0007\r\n\t\u007f\u009b31m",
  "\ud800 lone \udfff",
  "\u202eright to left\u2066\u200b\ufeff\u2028\u2029",
  "<script>alert(1)</script>${jndi:x} %s %n {{x}} '\"`;--",
  "x".repeat(100_000),
  "",
];

/** What every observer does, whatever it does with the events (T4). */
export const observerClaims: readonly Claim<ObserverFixture>[] = [
  {
    id: "observer-takes-every-event",
    title: "onEvent throws at no event of any type",
    check({ observer }) {
      deliver(observer, sampleEvents());
    },
  },
  {
    id: "observer-returns-nothing",
    title: "onEvent is done when it returns, and returns no promise",
    check({ observer }) {
      for (const event of sampleEvents()) {
        const returned = attempt(() => observer.onEvent(event) as unknown);
        expectThat(returned === undefined, `onEvent returned something for ${event.type}`);
      }
    },
  },
  {
    id: "observer-takes-unknown-events",
    title: "an event of a type this version does not know is taken and passed over",
    check({ observer }) {
      deliver(observer, [...sampleEvents().slice(0, 1), unknownEvent()]);
    },
  },
  {
    id: "observer-leaves-events-alone",
    title: "onEvent does not change the event, which others are still to see",
    check({ observer }) {
      const pristine = sampleEvents();
      for (const [index, event] of sampleEvents().entries()) {
        attempt(() => observer.onEvent(event));
        expectEqual(event, pristine[index], event.type);
      }
    },
  },
  {
    id: "observer-takes-interleaved-turns",
    title: "the events of two turns may come interleaved",
    check({ observer }) {
      const one = completedTurn("turn-1", "session-1");
      const two = completedTurn("turn-2", "session-2");
      deliver(
        observer,
        one.flatMap((event, index) => [event, two[index] ?? event]),
      );
    },
  },
  {
    id: "observer-takes-half-a-turn",
    title: "a turn may have begun before the observer came, and may never end",
    check({ observer }) {
      const { length } = completedTurn("turn", "session");
      // The shortest first: nothing may rest on what came for another turn.
      for (let from = length - 2; from > 0; from--) {
        deliver(observer, completedTurn(`turn-${from}`, "session").slice(from, -1));
      }
    },
  },
  {
    id: "observer-takes-hostile-text",
    title: "control characters, lone surrogates and very long text are taken in every field",
    check({ observer }) {
      // What it refuses with harmless text already is another claim's business.
      const refused = sampleEvents().filter((event) => thrownBy(() => observer.onEvent(event)) !== undefined);
      const types = new Set(refused.map((event) => event.type));
      for (const text of HOSTILE_TEXTS) {
        deliver(
          observer,
          sampleEvents({ text }).filter((event) => !types.has(event.type)),
        );
      }
    },
  },
];

/** From `turnStarted` to `turnCompleted`. */
function completedTurn(turnId: string, sessionId: string): readonly TurnEvent[] {
  return sampleEvents({ turnId, sessionId }).filter((event) => event.turnId === turnId);
}

function deliver(observer: Observer, events: readonly TurnEvent[]): void {
  for (const event of events) {
    const error = thrownBy(() => observer.onEvent(event));
    expectThat(error === undefined, `onEvent threw at ${event.type}`);
  }
}

function thrownBy(run: () => void): { readonly error: unknown } | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Another claim says that nothing is thrown. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
