import type { test as jestTest } from "@jest/globals";
import { test as nodeTest } from "node:test";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  checkClaims,
  type Claim,
  ClaimFailure,
  expectEqual,
  expectRejection,
  runClaims,
  sessionStoreClaims,
  type TestFunction,
} from "../../src/testkit/claims/index.js";
import { SessionError } from "../../src/domain/errors.js";
import { RecordingSessionStore } from "../../src/testkit/fakes/recording-session-store.js";
import * as testkit from "../../src/testkit/index.js";

type Box = { readonly value: number; [Symbol.asyncDispose]?(): Promise<void> };

const positive: Claim<Box> = {
  id: "positive",
  title: "the value is positive",
  check({ value }) {
    if (value <= 0) throw new ClaimFailure("not positive");
  },
};
const even: Claim<Box, "parity"> = { ...positive, id: "even", title: "the value is even", needs: "parity" };

test("a report names each claim with its outcome, in the order of the table", async () => {
  const report = await checkClaims({
    claims: [positive, even],
    make: () => ({ value: 0 }),
    capabilities: { parity: { missing: "odd numbers only" } },
  });
  expect(report.ok).toBe(false);
  expect(report.results).toEqual([
    { id: "positive", title: positive.title, outcome: "failed", error: new ClaimFailure("not positive") },
    { id: "even", title: even.title, outcome: "skipped", reason: "no parity: odd numbers only" },
  ]);
});

test("a claim whose need nobody declared missing is checked", async () => {
  const report = await checkClaims({ claims: [even], make: () => ({ value: 0 }) });
  expect(report.results[0]?.outcome).toBe("failed");
});

test("each claim gets a fixture of its own, which is disposed of also when the claim fails", async () => {
  let made = 0;
  const disposed: number[] = [];
  const make = (): Box => {
    const value = made--;
    return { value, [Symbol.asyncDispose]: async () => void disposed.push(value) };
  };
  await checkClaims({ claims: [positive, { ...positive, id: "again" }], make });
  expect(disposed).toEqual([0, -1]);
});

test("a fixture that cannot be disposed of fails its claim", async () => {
  const make = (): Box => ({ value: 1, [Symbol.asyncDispose]: () => Promise.reject(new Error("still open")) });
  const report = await checkClaims({ claims: [positive], make });
  expect(report.results[0]).toMatchObject({ outcome: "failed", error: new Error("still open") });
});

test("a runner gets one test per claim, and the reason in the title of a skipped one", async () => {
  const registered: { title: string; check: () => Promise<void>; skipped: boolean }[] = [];
  const runner: TestFunction = Object.assign(
    (title: string, check: () => Promise<void>) => registered.push({ title, check, skipped: false }),
    { skip: (title: string, check: () => Promise<void>) => registered.push({ title, check, skipped: true }) },
  );
  const capabilities = { parity: { missing: "odd numbers only" } };
  runClaims({ test: runner, claims: [positive, even], make: () => ({ value: 0 }), capabilities });
  expect(registered.map(({ title, skipped }) => [title, skipped])).toEqual([
    ["positive: the value is positive", false],
    ["even: the value is even (skipped, no parity: odd numbers only)", true],
  ]);
  await expect(registered[0]?.check()).rejects.toThrow("not positive");
});

test("a runner that cannot skip gets no test for a skipped claim, which is printed instead of passing", () => {
  const registered: string[] = [];
  const printed: unknown[] = [];
  const { warn } = console;
  console.warn = (text: unknown) => void printed.push(text);
  try {
    const capabilities = { parity: { missing: "odd numbers only" } };
    const only = (title: string): unknown => registered.push(title);
    runClaims({ test: only, claims: [positive, even], make: () => ({ value: 0 }), capabilities });
  } finally {
    console.warn = warn;
  }
  expect(registered).toEqual(["positive: the value is positive"]);
  expect(printed).toEqual(["even: the value is even (skipped, no parity: odd numbers only)"]);
});

test("the test functions of vitest, node:test and jest fit, and two claims of one id are refused", () => {
  const fits = (runner: typeof jestTest): TestFunction => runner;
  expect(fits).toBeTypeOf("function");
  const runners: TestFunction[] = [test, nodeTest];
  for (const runner of runners) {
    const repeated = { test: runner, claims: [positive, positive], make: () => ({ value: 1 }) };
    expect(() => runClaims(repeated)).toThrow("two claims have the id positive");
  }
});

test("an expectation names the first place that differs", () => {
  const hidden = JSON.parse('{"a":[{"__proto__":1}]}') as object;
  expect(() => expectEqual(hidden, { a: [{}] }, "body")).toThrow("body: at .a.0 has an unexpected __proto__");
  expect(() => expectEqual({ a: "5" }, { a: 5 }, "body")).toThrow("body: at .a expected 5, got 5");
  expect(() => expectEqual([1], [1, 2], "list")).toThrow("list: lacks 1");
  expect(() => expectEqual({}, [], "list")).toThrow("list: expected [], got {}");
  expectEqual({ a: 1, b: null }, { b: null, a: 1 }, "order of keys");
});

test("an expected rejection must be of the class and of one of the kinds", async () => {
  const conflict = new SessionError("conflict", "stale");
  const failing = async (): Promise<void> => {
    throw conflict;
  };
  expect(await expectRejection(failing, SessionError, ["conflict"], "append")).toBe(conflict);
  await expect(expectRejection(failing, SessionError, ["load"], "append")).rejects.toThrow(
    "append: expected SessionError(load), got SessionError: SessionError(conflict): stale",
  );
  await expect(expectRejection(() => 1, SessionError, [], "append")).rejects.toThrow("got no error");
});

const prompt = { timeoutMs: 20 };

test("a check that hangs fails its claim under its id, is disposed of, and the run goes on", async () => {
  let disposed = 0;
  const make = (): Box => ({ value: 1, [Symbol.asyncDispose]: async () => void disposed++ });
  const hanging = { ...positive, id: "hanging", check: () => Promise.withResolvers<void>().promise };
  const { results } = await checkClaims({ claims: [hanging, positive], make, ...prompt });
  expect(results).toMatchObject([
    { id: "hanging", outcome: "failed", error: new ClaimFailure("hanging has not settled within 20 ms") },
    { id: "positive", outcome: "passed" },
  ]);
  expect(disposed).toBe(2);
});

test("a process that stands still for longer than a check may take makes nothing late", async () => {
  const still: Claim<Box> = {
    ...positive,
    async check() {
      await setImmediate();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * prompt.timeoutMs);
      await setImmediate();
      await setImmediate();
    },
  };
  const { results } = await checkClaims({ claims: [still], make: () => ({ value: 1 }), ...prompt });
  expect(results).toMatchObject([{ outcome: "passed" }]);
});

test("a make that hangs fails its claim, and what it makes too late is disposed of", async () => {
  const late = Promise.withResolvers<Box>();
  const disposed = Promise.withResolvers<void>();
  const { results } = await checkClaims({ claims: [positive], make: () => late.promise, ...prompt });
  expect(results[0]).toMatchObject({ error: new ClaimFailure("make has not settled within 20 ms for positive") });
  late.resolve({ value: 1, [Symbol.asyncDispose]: async () => disposed.resolve() });
  await disposed.promise;
});

test("a disposal that hangs fails its claim", async () => {
  const make = (): Box => ({ value: 1, [Symbol.asyncDispose]: () => Promise.withResolvers<void>().promise });
  const { results } = await checkClaims({ claims: [positive], make, ...prompt });
  const error = new ClaimFailure("the disposal of the fixture of positive has not settled within 20 ms");
  expect(results[0]).toMatchObject({ outcome: "failed", error });
});

test("a claim that fails stays the first failure when the disposal fails as well", async () => {
  const make = (): Box => ({ value: 0, [Symbol.asyncDispose]: () => Promise.reject(new Error("still open")) });
  const { results } = await checkClaims({ claims: [positive], make });
  const error = results[0]?.outcome === "failed" ? results[0].error : undefined;
  expect(error).toMatchObject({ errors: [new ClaimFailure("not positive"), new Error("still open")] });
  expect(String(error)).toMatch(/not positive; then its fixture could not be disposed of: .*still open/);
});

test.each([[undefined], [null], ["a box"], [7]])(
  "a make that gives %j fails every claim, and says so",
  async (given) => {
    const { results } = await checkClaims({ claims: [positive], make: () => given as unknown as Box });
    expect(results[0]).toMatchObject({ error: new ClaimFailure(`make gives a fixture, an object; it gave ${given}`) });
  },
);

test("a make that throws at once fails its claim with what it threw", async () => {
  const make = (): Box => {
    throw new Error("no room");
  };
  expect((await checkClaims({ claims: [positive], make })).results).toMatchObject([{ error: new Error("no room") }]);
});

test("a capability that no claim needs, most often a misspelt one, is refused by name", async () => {
  const given = { claims: [positive, even], make: () => ({ value: 1 }) };
  const missing = { missing: "odd numbers only" };
  const refused = (capabilities: object): Promise<unknown> => checkClaims({ ...given, capabilities });
  await expect(refused({ parety: missing })).rejects.toThrow("no claim needs the capability parety; they need parity");
  await expect(
    checkClaims({ ...given, claims: [positive], capabilities: { parity: missing } as object }),
  ).rejects.toThrow("no claim needs the capability parity; they need none");
  for (const nonsense of [false, "odd", {}, { missing: "" }, { missing: 3 }, null]) {
    const capabilities = { parity: nonsense };
    await expect(refused(capabilities), String(nonsense)).rejects.toThrow("parity is neither true nor { missing:");
  }
  // @ts-expect-error the compiler sees it too
  expect(() => runClaims({ ...given, test, capabilities: { parety: missing } })).toThrow(TypeError);
});

test("some claims of a table may be run with the capabilities of the whole table", async () => {
  const claims = sessionStoreClaims.filter(({ needs }) => needs === undefined).slice(0, 1);
  const capabilities = { append: { missing: "none" }, reopen: { missing: "none" } };
  const make = () => ({ store: new RecordingSessionStore() });
  expect((await checkClaims({ claims, make, capabilities })).results).toHaveLength(1);
});

test.each([
  [{ claims: [] }, "claims is a list with at least one claim"],
  [{ claims: undefined }, "claims is a list with at least one claim"],
  [{ make: undefined }, "make is a function that gives a fixture"],
  [{ timeoutMs: 0 }, "timeoutMs is a number of milliseconds above 0"],
  [{ timeoutMs: Number.NaN }, "timeoutMs is a number of milliseconds above 0"],
])("a run with %o is refused before anything is checked", async (wrong, text) => {
  const run = { claims: [positive], make: () => ({ value: 1 }), ...wrong } as Parameters<typeof checkClaims>[0];
  await expect(checkClaims(run)).rejects.toThrow(new TypeError(text));
});

test("a runner is asked for more time than a claim takes, so that the claim says what it waited for", () => {
  const limits: number[] = [];
  const runner = (_title: string, _check: unknown, limit: number): unknown => limits.push(limit);
  runClaims({ test: runner, claims: [positive], make: () => ({ value: 1 }), timeoutMs: 10_000 });
  runClaims({ test: runner, claims: [positive], make: () => ({ value: 1 }) });
  expect(limits).toEqual([21_000, 61_000]);
});

test("every table of the testkit is among the named ones", () => {
  const tables = Object.entries(testkit).filter(([name, value]) => name.endsWith("Claims") && Array.isArray(value));
  const named = Object.entries(testkit.claimTables).map(([name, { claims }]) => [`${name}Claims`, claims]);
  expect(named.sort()).toEqual(tables.sort());
});
