import { describe, expect, it } from "vitest";
import { CompositeLifecycle } from "../../../src/adapters/lifecycle/composite.js";
import { NoopLifecycle } from "../../../src/adapters/lifecycle/noop.js";
import type { Lifecycle } from "../../../src/ports/lifecycle.js";

type Faults = { readonly start?: unknown; readonly shutdown?: unknown };

function recorded(faults: Readonly<Record<string, Faults>>): { log: string[]; whole: CompositeLifecycle } {
  const log: string[] = [];
  const note = (word: string, fault: unknown): Promise<void> => {
    log.push(word);
    return fault === undefined ? Promise.resolve() : Promise.reject(fault);
  };
  const parts = Object.entries(faults).map(
    ([name, { start, shutdown }]): Lifecycle => ({
      onStart: () => note(`+${name}`, start),
      onShutdown: () => note(`-${name}`, shutdown),
    }),
  );
  return { log, whole: new CompositeLifecycle(parts) };
}

const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("CompositeLifecycle", () => {
  it("starts in order and shuts down in reverse, each once however often it is asked", async () => {
    const { log, whole } = recorded({ a: {}, b: {}, c: {} });
    await Promise.all([whole.onStart(), whole.onStart()]);
    await Promise.all([whole.onShutdown(), whole.onShutdown()]);
    await whole.onStart();
    expect(log).toEqual(["+a", "+b", "+c", "-c", "-b", "-a"]);
  });

  it("rolls back what had started when one fails to start, and rejects with its error", async () => {
    const { log, whole } = recorded({ a: {}, b: {}, c: { start: "no" }, d: {} });
    expect(await failureOf(whole.onStart())).toBe("no");
    expect(await failureOf(whole.onShutdown())).toBeUndefined();
    expect(log).toEqual(["+a", "+b", "+c", "-b", "-a"]);
  });

  it("tells of a roll-back that fails as well, the cause first", async () => {
    const { whole } = recorded({ a: { shutdown: "stuck" }, b: { start: "no" } });
    expect(await failureOf(whole.onStart())).toMatchObject({ errors: ["no", "stuck"] });
  });

  it("shuts all down whatever fails, and rejects with one error that holds every failure", async () => {
    const { log, whole } = recorded({ a: { shutdown: "a!" }, b: {}, c: { shutdown: "c!" } });
    await whole.onStart();
    const failure = await failureOf(whole.onShutdown());
    expect(failure).toBeInstanceOf(AggregateError);
    expect(failure).toMatchObject({ errors: ["c!", "a!"] });
    expect(await failureOf(whole.onShutdown())).toBe(failure);
    expect(log.slice(3)).toEqual(["-c", "-b", "-a"]);
  });

  it("shuts everything down that was never started, and starts nothing afterwards", async () => {
    const { log, whole } = recorded({ a: {}, b: {} });
    await whole.onShutdown();
    await whole.onStart();
    expect(log).toEqual(["-b", "-a"]);
  });

  it("waits for a start under way before it shuts down", async () => {
    const started = Promise.withResolvers<void>();
    const log: string[] = [];
    const slow: Lifecycle = {
      onStart: () => started.promise.then(() => void log.push("started")),
      onShutdown: async () => void log.push("closed"),
    };
    const whole = new CompositeLifecycle([slow]);
    const work = [whole.onStart(), whole.onShutdown()];
    started.resolve();
    await Promise.all(work);
    expect(log).toEqual(["started", "closed"]);
  });

  it("takes parts that have nothing to start, and throws that are synchronous", async () => {
    const broken: Lifecycle = {
      onShutdown: () => {
        throw new Error("at once");
      },
    };
    const whole = new CompositeLifecycle([new NoopLifecycle(), broken]);
    await whole.onStart();
    expect(await failureOf(whole.onShutdown())).toMatchObject({ errors: [{ message: "at once" }] });
  });
});
