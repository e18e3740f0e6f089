import { setImmediate } from "node:timers/promises";
import { systemRuntime } from "../../../src/agent/system-runtime.js";
import type { Runtime } from "../../../src/ports/runtime.js";
import type { SessionStore } from "../../../src/ports/session-store.js";
import { testRuntime } from "../../../src/testkit/runtime.js";

/** The smallest steps in which time passes, in milliseconds. */
const STEP_MS = 20;

/** A runtime whose time passes only as it is told, and a store that its time waits for: no call of it takes any. */
export type ToldClock = {
  readonly runtime: Runtime;
  readonly store: SessionStore;
  /** Resolves when so much time has passed, and nothing that was asked of the store is under way. */
  pass(ms: number): Promise<void>;
};

export function toldClock(store: Required<Pick<SessionStore, "load" | "append" | "save">>): ToldClock {
  const clock = testRuntime();
  let underWay = 0;
  async function counted<T>(call: Promise<T>): Promise<T> {
    underWay += 1;
    return call.finally(() => (underWay -= 1));
  }
  const settled = async (): Promise<void> => {
    do await setImmediate();
    while (underWay > 0);
  };
  return {
    // Ids are no other process's.
    runtime: { ...clock, newId: systemRuntime().newId },
    store: {
      load: (id, known) => counted(store.load(id, known)),
      append: (id, delta) => counted(store.append(id, delta)),
      save: (id, session, options) => counted(store.save(id, session, options)),
    },
    async pass(ms) {
      await settled();
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        await clock.advance(STEP_MS);
        await settled();
      }
    },
  };
}
