import { describe, test } from "vitest";
import { CompositeLifecycle } from "../../src/adapters/lifecycle/composite.js";
import { NoopLifecycle } from "../../src/adapters/lifecycle/noop.js";
import type { Lifecycle } from "../../src/ports/lifecycle.js";
import { runClaims } from "../../src/testkit/claims/index.js";
import { lifecycleClaims, type LifecycleFixture } from "../../src/testkit/claims/lifecycle.js";
import { RecordingLifecycle } from "../../src/testkit/fakes/recording-lifecycle.js";
import { proveClaims } from "./prove-claims.js";

/** One thing that is opened and closed, and can be told to fail. */
class Door implements Required<Lifecycle> {
  readonly name = "door";
  open = 0;
  failing: "onStart" | "onShutdown" | undefined;

  async onStart(): Promise<void> {
    this.open += 1;
    this.failAt("onStart");
  }

  async onShutdown(): Promise<void> {
    this.failAt("onShutdown");
    this.open = 0;
  }

  /** A start that fails leaves nothing open. */
  failAt(method: "onStart" | "onShutdown"): void {
    if (this.failing !== method) return;
    this.failing = undefined;
    this.open = 0;
    throw new Error(`${method} fails`);
  }
}

/** A door with some of its members replaced. */
function fixtureOf(replace: (door: Door) => Partial<Lifecycle> = () => ({})): LifecycleFixture {
  const door = new Door();
  const whole: Lifecycle = { name: door.name, onStart: () => door.onStart(), onShutdown: () => door.onShutdown() };
  return {
    lifecycle: Object.defineProperties(whole, Object.getOwnPropertyDescriptors(replace(door))),
    open: () => door.open,
    breakStart: () => void (door.failing = "onStart"),
    breakShutdown: () => void (door.failing = "onShutdown"),
    deadlineMs: 50,
  };
}

const refuse = (why: string): Promise<never> => Promise.reject(new Error(why));

const broken: Readonly<Record<string, () => LifecycleFixture>> = {
  "lifecycle-is-named": () =>
    fixtureOf((door) => ({
      get name() {
        return `door, ${door.open} open`;
      },
    })),
  "lifecycle-starts": () =>
    fixtureOf((door) => ({ onStart: () => door.onStart().then(() => Promise.withResolvers<never>().promise) })),
  "lifecycle-shuts-down": () =>
    fixtureOf((door) => ({
      onShutdown: async () => {
        const wasOpen = door.open > 0;
        await door.onShutdown();
        if (wasOpen) await refuse("something was open");
      },
    })),
  "lifecycle-gives-promises": () =>
    fixtureOf((door) => ({
      onShutdown() {
        door.failAt("onShutdown");
        const closed: unknown = void (door.open = 0);
        return closed as Promise<void>;
      },
    })),
  "lifecycle-shuts-down-unstarted": () => {
    let started = false;
    return fixtureOf((door) => ({
      onStart: () => {
        started = true;
        return door.onStart();
      },
      onShutdown: () => (started ? door.onShutdown() : refuse("never started")),
    }));
  },
  "lifecycle-shuts-down-twice": () => {
    let closed = false;
    return fixtureOf((door) => ({
      onShutdown: () => (closed ? refuse("closed already") : door.onShutdown().finally(() => (closed = true))),
    }));
  },
  "lifecycle-closes-what-it-opened": () => fixtureOf((door) => ({ onShutdown: async () => door.failAt("onShutdown") })),
  "lifecycle-fails-to-start-loudly": () =>
    fixtureOf((door) => ({ onStart: () => door.onStart().catch(() => undefined) })),
  "lifecycle-rolls-back": () => fixtureOf((door) => ({ onStart: () => door.onStart().finally(() => (door.open = 1)) })),
  "lifecycle-shuts-down-after-a-failed-start": () => {
    let failed = false;
    return fixtureOf((door) => ({
      onStart: () =>
        door.onStart().catch((error: unknown) => {
          failed = true;
          throw error;
        }),
      onShutdown: () => (failed ? refuse("it is not open") : door.onShutdown()),
    }));
  },
  "lifecycle-fails-to-shut-down-loudly": () =>
    fixtureOf((door) => ({ onShutdown: () => door.onShutdown().catch(() => undefined) })),
  "lifecycle-leaves-the-process-alone": () => {
    const listener = (): void => undefined;
    const fixture = fixtureOf((door) => ({
      onStart: () => {
        process.on("SIGUSR2", listener);
        return door.onStart();
      },
    }));
    return { ...fixture, [Symbol.asyncDispose]: async () => void process.off("SIGUSR2", listener) };
  },
};

proveClaims("lifecycleClaims", { claims: lifecycleClaims, sound: fixtureOf, broken });

describe("the recording lifecycle", () => {
  runClaims({
    test,
    claims: lifecycleClaims,
    make: () => {
      const lifecycle = new RecordingLifecycle();
      return {
        lifecycle,
        breakStart: () => void lifecycle.failOn("start"),
        breakShutdown: () => void lifecycle.failOn("shutdown"),
      };
    },
    capabilities: { resources: { missing: "it opens nothing" } },
  });
});

describe("CompositeLifecycle", () => {
  runClaims({
    test,
    claims: lifecycleClaims,
    make: () => {
      const doors = [new Door(), new Door(), new Door()] as const;
      return {
        lifecycle: new CompositeLifecycle(doors),
        open: () => doors.reduce((sum, { open }) => sum + open, 0),
        breakStart: () => void (doors[2].failing = "onStart"),
        breakShutdown: () => void (doors[2].failing = "onShutdown"),
      };
    },
  });
});

describe("NoopLifecycle", () => {
  const missing = { missing: "it does nothing" };
  runClaims({
    test,
    claims: lifecycleClaims,
    make: () => ({ lifecycle: new NoopLifecycle() }),
    capabilities: { resources: missing, "start-failure": missing, "shutdown-failure": missing },
  });
});
