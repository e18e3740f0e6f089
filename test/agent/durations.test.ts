import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { systemRuntime } from "../../src/agent/system-runtime.js";
import { CompositionError } from "../../src/domain/errors.js";
import { RecordingSessionStore, stopResponse, testAgent, testRuntime } from "../../src/testkit/index.js";
import { hookAt } from "../support/turns.js";

const never = (): Promise<never> => new Promise(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a timer of any length runs when it is due, and one without end never", () => {
  const runtime = systemRuntime();
  const ran: string[] = [];
  const month = 30 * 24 * 3_600_000;
  runtime.after(month, () => ran.push("month"));
  runtime.after(month, () => ran.push("cancelled"))();
  runtime.after(Number.POSITIVE_INFINITY, () => ran.push("never"));
  const late = runtime.after(month, () => ran.push("cancelled late"));
  vi.advanceTimersByTime(month - 1);
  late();
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ran).toEqual(["month"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a clock that is set back makes nobody wait longer", async () => {
  vi.useRealTimers();
  let back = 0;
  const virtual = testRuntime();
  const runtime = { ...virtual, now: () => virtual.now() - back };
  const hook = hookAt("beforeModel", () => ((back = 3_600_000), never()), "deaf");
  await using t = await testAgent({
    script: [stopResponse("done")],
    hooks: [hook],
    runtime,
    config: { hookTimeoutMs: 100 },
  });
  const turn = t.agent.runTurn("hi", "s").catch((error: unknown) => String(error));
  await virtual.advance(101);
  expect(await turn).toContain("deaf");
});

test("a lease that stands still is dead after its time, whatever the wall clock says meanwhile (S2)", async () => {
  vi.useRealTimers();
  let back = 0;
  const virtual = testRuntime();
  const runtime = { ...virtual, now: () => virtual.now() - back };
  const store = new RecordingSessionStore();
  store.seed("s", { metadata: { "ennead.turn": { turnId: "dead", until: 1 } } });
  await using t = await testAgent({
    script: [stopResponse("done")],
    sessions: [store],
    runtime,
    config: { turnLeaseMs: 1_000 },
  });
  const turn = t.agent.runTurn("hi", "s");
  await virtual.advance(10);
  back = 3_600_000;
  await virtual.advance(1_500);
  expect((await turn).status).toBe("completed");
});

test("a lease without end is refused: one that is dead would hold for ever", async () => {
  const made = Agent.create({
    model: { chat: never },
    sessions: [new RecordingSessionStore()],
    config: { turnLeaseMs: Number.POSITIVE_INFINITY },
  });
  await expect(made).rejects.toBeInstanceOf(CompositionError);
});

test("limits without end are no limits", async () => {
  vi.useRealTimers();
  const endless = Number.POSITIVE_INFINITY;
  const config = { hookTimeoutMs: endless, storeTimeoutMs: endless, listenerTimeoutMs: endless, drainMs: endless };
  const hook = hookAt("beforeModel", async () => new Promise<void>((resolve) => void setTimeout(resolve, 20)), "slow");
  const sessions = [new RecordingSessionStore()];
  const agent = await Agent.create({
    model: { chat: async () => stopResponse("done") },
    sessions,
    hooks: [hook],
    config,
  });
  const turn = agent.runTurn("hi", "s");
  await Promise.resolve();
  await agent.shutdown();
  expect((await turn).status).toBe("completed");
});
