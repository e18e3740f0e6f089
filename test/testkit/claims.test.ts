import { test as nodeTest } from "node:test";
import { expect, test } from "vitest";
import {
  checkClaims,
  type Claim,
  ClaimFailure,
  expectEqual,
  expectRejection,
  runClaims,
  type TestFunction,
} from "../../src/testkit/claims/index.js";
import { SessionError } from "../../src/domain/errors.js";

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

test("the test functions of vitest and node:test fit, and two claims of one id are refused", () => {
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
