import type { Awaitable } from "../../ports/awaitable.js";
import type { Lifecycle } from "../../ports/lifecycle.js";
import type { Claim, Fixture } from "./claim.js";
import { expectSettled, settlesWithin } from "./expect-settled.js";
import { ClaimFailure, expectEqual, expectThat } from "./expectations.js";

/** A lifecycle that was neither started nor shut down. */
export type LifecycleFixture = Fixture & {
  readonly lifecycle: Lifecycle;
  /** How much of what it looks after is open now: connections, files, timers. Needed for `resources`. */
  open?(): Awaitable<number>;
  /** Makes its next start fail, as late as it can; needed for `start-failure`. */
  breakStart?(): Awaitable<void>;
  /** Makes its next shutdown fail, as early as it can; needed for `shutdown-failure`. */
  breakShutdown?(): Awaitable<void>;
  /** How soon a start and a shutdown must have settled; default 5000. */
  readonly deadlineMs?: number | undefined;
};

/** `start`: it has the optional `onStart`. The others are offered by the fixture. */
export type LifecycleCapability = "start" | "resources" | "start-failure" | "shutdown-failure";

/** A claim of `lifecycleClaims`. */
export type LifecycleClaim = Claim<LifecycleFixture, LifecycleCapability>;

/** What everything does that starts and closes with an agent (A2). */
export const lifecycleClaims: readonly LifecycleClaim[] = [
  {
    id: "lifecycle-is-named",
    title: "its name, if it has one, says something and stays the same",
    async check(fixture) {
      const { lifecycle } = fixture;
      const { name } = lifecycle;
      expectThat(
        name === undefined || (typeof name === "string" && name !== ""),
        "the name is a text that says something",
      );
      await quietly(() => start(fixture));
      expectEqual(lifecycle.name, name, "the name after the start");
      await quietly(() => shutDown(fixture));
      expectEqual(lifecycle.name, name, "the name after the shutdown");
    },
  },
  {
    id: "lifecycle-starts",
    title: "onStart resolves in time",
    needs: "start",
    async check(fixture) {
      expectThat(
        fixture.lifecycle.onStart !== undefined,
        "it has onStart, or the capability start is declared missing",
      );
      await start(fixture);
      await quietly(() => shutDown(fixture));
    },
  },
  {
    id: "lifecycle-shuts-down",
    title: "onShutdown resolves in time, after a start",
    async check(fixture) {
      await quietly(() => start(fixture));
      await shutDown(fixture);
    },
  },
  {
    id: "lifecycle-gives-promises",
    title: "onStart and onShutdown return promises",
    async check({ lifecycle, deadlineMs = 5_000 }) {
      for (const method of ["onStart", "onShutdown"] as const) {
        if (lifecycle[method] === undefined) continue;
        const returned: unknown = attempt(() => lifecycle[method]?.());
        expectThat(isThenable(returned), `${method} returns a promise`);
        await settlesWithin(returned, deadlineMs);
      }
    },
  },
  {
    id: "lifecycle-shuts-down-unstarted",
    title: "one that was never started can be shut down: its owner may have failed before",
    async check(fixture) {
      await shutDown(fixture);
    },
  },
  {
    id: "lifecycle-shuts-down-twice",
    title: "a second shutdown resolves too, at once and later",
    async check(fixture) {
      await quietly(() => start(fixture));
      // How the first one ends is another claim's business.
      const [first, second] = [quietly(() => shutDown(fixture)), shutDown(fixture)];
      await first;
      await second;
      await shutDown(fixture);
    },
  },
  {
    id: "lifecycle-closes-what-it-opened",
    title: "after the shutdown nothing is open that was open after the start",
    needs: "resources",
    async check(fixture) {
      await quietly(() => start(fixture));
      expectThat((await openOf(fixture)) > 0, "something is open after the start");
      await quietly(() => shutDown(fixture));
      await expectNothingOpen(fixture, "after the shutdown");
    },
  },
  {
    id: "lifecycle-fails-to-start-loudly",
    title: "a start that fails rejects, in time",
    needs: "start-failure",
    async check(fixture) {
      await breaking(fixture, "breakStart", "start-failure");
      await expectRejected(fixture, "onStart");
      await quietly(() => shutDown(fixture));
    },
  },
  {
    id: "lifecycle-rolls-back",
    title: "a start that fails leaves nothing open: nobody shuts down what did not start",
    needs: "start-failure",
    async check(fixture) {
      await breaking(fixture, "breakStart", "start-failure");
      await quietly(() => start(fixture));
      if (fixture.open !== undefined) await expectNothingOpen(fixture, "after a start that failed");
    },
  },
  {
    id: "lifecycle-shuts-down-after-a-failed-start",
    title: "a shutdown after a start that failed resolves: there is nothing left to close",
    needs: "start-failure",
    async check(fixture) {
      await breaking(fixture, "breakStart", "start-failure");
      await quietly(() => start(fixture));
      await shutDown(fixture);
    },
  },
  {
    id: "lifecycle-fails-to-shut-down-loudly",
    title: "a shutdown that fails rejects, in time",
    needs: "shutdown-failure",
    async check(fixture) {
      await quietly(() => start(fixture));
      await breaking(fixture, "breakShutdown", "shutdown-failure");
      await expectRejected(fixture, "onShutdown");
    },
  },
  {
    id: "lifecycle-leaves-the-process-alone",
    title: "after the shutdown the process has no listener that it had not before the start",
    async check(fixture) {
      const before = processListeners();
      await quietly(() => start(fixture));
      await quietly(() => shutDown(fixture));
      expectEqual(processListeners(), before, "the listeners of the process");
    },
  },
];

async function start({ lifecycle, deadlineMs = 5_000 }: LifecycleFixture): Promise<void> {
  const starting = (async () => lifecycle.onStart?.())();
  await expectSettled(starting, deadlineMs, "onStart settles");
  await starting;
}

async function shutDown({ lifecycle, deadlineMs = 5_000 }: LifecycleFixture): Promise<void> {
  const closing = (async () => lifecycle.onShutdown())();
  await expectSettled(closing, deadlineMs, "onShutdown settles");
  await closing;
}

/** How it ends is another claim's business. */
async function quietly(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch {
    // Said above.
  }
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

async function expectRejected(
  { lifecycle, deadlineMs = 5_000 }: LifecycleFixture,
  method: "onStart" | "onShutdown",
): Promise<void> {
  let rejected = false;
  const running = (async () => lifecycle[method]?.())().catch(() => {
    rejected = true;
  });
  await expectSettled(running, deadlineMs, `a ${method} that fails settles`);
  expectThat(rejected, `${method} rejects when it fails`);
}

async function openOf({ open }: LifecycleFixture): Promise<number> {
  if (open === undefined)
    throw new ClaimFailure("the fixture gives open, or the capability resources is declared missing");
  return await open();
}

async function expectNothingOpen(fixture: LifecycleFixture, when: string): Promise<void> {
  expectEqual(await openOf(fixture), 0, `what is open ${when}`);
}

async function breaking(
  fixture: LifecycleFixture,
  name: "breakStart" | "breakShutdown",
  capability: LifecycleCapability,
): Promise<void> {
  if (fixture[name] === undefined) {
    throw new ClaimFailure(`the fixture gives ${name}, or the capability ${capability} is declared missing`);
  }
  await fixture[name]();
}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function processListeners(): Readonly<Record<string, number>> {
  const names = process.eventNames().map((name) => [String(name), process.listenerCount(name)] as const);
  return Object.fromEntries(names.sort(([a], [b]) => (a < b ? -1 : 1)));
}
