import fc from "fast-check";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { adopt } from "../../src/domain/adopt.js";
import { contentText } from "../../src/domain/content.js";
import type { Json } from "../../src/domain/json.js";
import { errorResult, okResult, type ToolResult } from "../../src/domain/tool.js";
import { normaliseToolReturn } from "../../src/domain/tool-result.js";
import { GivesAnother, GivesItself } from "../support/odd-json.js";

const LIMIT = 1_000;
const normalised = (value: unknown): ToolResult => normaliseToolReturn(value, LIMIT);
const bytesOf = (result: ToolResult): number =>
  Buffer.byteLength(contentText(result.content)) +
  (result.structured === undefined ? 0 : Buffer.byteLength(JSON.stringify(result.structured)));

class Point {
  readonly x = 1;
  readonly #hidden = 2;
  get sum(): number {
    return this.x + this.#hidden;
  }
}
class Nothing {}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function endless(): object {
  return {
    get left() {
      return endless();
    },
    get right() {
      return endless();
    },
  };
}

function* endlessly(): Generator<number> {
  for (;;) yield 1;
}

const throwing = (): never => {
  throw new Error("boom");
};

describe("normaliseToolReturn", () => {
  it.each<[string, unknown, ToolResult]>([
    ["text becomes one part", "hi", okResult("hi")],
    ["nothing becomes no content", undefined, okResult([])],
    ["empty text becomes no content", "", okResult([])],
    [
      "JSON becomes structured",
      { a: [1, null, { b: "x" }] },
      okResult([], { structured: { a: [1, null, { b: "x" }] } }),
    ],
    ["null, numbers and booleans are JSON", null, okResult([], { structured: null })],
    [
      "undefined fields are left out as in JSON text",
      { a: undefined, b: [undefined] },
      okResult([], { structured: { b: [null] } }),
    ],
    [
      "an object with text content and no isError is JSON",
      { content: "x" },
      okResult([], { structured: { content: "x" } }),
    ],
    [
      "an object of data with a list as content is JSON",
      { content: [], page: 1 },
      okResult([], { structured: { content: [], page: 1 } }),
    ],
    [
      "a result passes",
      errorResult("no", { structured: [1], details: { d: 1 }, terminate: true }),
      errorResult("no", { structured: [1], details: { d: 1 }, terminate: true }),
    ],
    ["a result's content may be text", { content: "x", isError: true }, errorResult("x")],
    ["isError alone is an error result", { isError: true }, errorResult([])],
    ["an error result may have null as content", { isError: true, content: null }, errorResult([])],
    [
      "an error result keeps fields it has no place for",
      { isError: true, message: "full", content: { disk: 1 } },
      errorResult('{"message":"full","content":{"disk":1}}'),
    ],
    [
      "isError that is no true says nothing",
      { isError: false, a: 1 },
      okResult([], { structured: { isError: false, a: 1 } }),
    ],
    ["content alone is a result", { content: [{ type: "text", text: "x" }] }, okResult("x")],
    ["terminate counts only as true", { content: "x", isError: false, terminate: "yes" }, okResult("x")],
    [
      "parts of no known shape become text",
      { content: ["s", { type: "text" }, 5], isError: false },
      okResult([
        { type: "text", text: "s" },
        { type: "text", text: '{"type":"text"}' },
        { type: "text", text: "5" },
      ]),
    ],
    ["a returned error is an error result", new TypeError("bad"), errorResult("bad")],
    ["an error of another realm is one too", runInNewContext('new Error("far")'), errorResult("far")],
  ])("%s", (_title, value, expected) => {
    expect(normalised(value)).toEqual(expected);
  });

  it.each<[string, unknown, string]>([
    ["a bigint", 7n, "7"],
    ["a date that is none", new Date(Number.NaN), "Invalid Date"],
    ["text as an object", Object("abc"), "abc"],
    [
      "a number as an object inside",
      { n: Object(5) as unknown, at: new Date(Number.NaN) },
      '{"n":"5","at":"Invalid Date"}',
    ],
    ["bigints inside", { total: 98765432109876543210n, parts: [7n] }, '{"total":"98765432109876543210","parts":["7"]}'],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a map", new Map([["a", 1]]), '{"a":1}'],
    ["a map with other keys", new Map([[1, "a"]]), '[[1,"a"]]'],
    ["a set", new Set([1, "b"]), '[1,"b"]'],
    ["an instance", new Point(), '{"x":1}'],
    ["a toJSON that answers its own object", [new GivesItself(), new GivesItself()], '[{"x":1},{"x":1}]'],
    ["a toJSON that answers another of its kind", { a: new GivesAnother() }, '{"a":{"at":1}}'],
    [
      "a toJSON that answers what holds it",
      { toJSON: () => ({ at: new Date(0) }) },
      '{"at":"1970-01-01T00:00:00.000Z"}',
    ],
    ["an instance without fields", new Nothing(), "[Nothing]"],
    ["a regular expression", /a/g, "/a/g"],
    ["a URL", new URL("https://example.org/x"), "https://example.org/x"],
    ["bytes", new Uint8Array(4), "[4 bytes]"],
    ["a function", throwing, "[function throwing]"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["not a number", [Number.NaN, Number.POSITIVE_INFINITY], '["NaN","Infinity"]'],
    ["a method", { run() {} }, '{"run":"[function run]"}'],
    [
      "a throwing getter",
      {
        a: 1,
        get b() {
          return throwing();
        },
      },
      '{"a":1,"b":"[unreadable: boom]"}',
    ],
    ["a throwing toJSON inside", { a: { toJSON: throwing } }, '{"a":"[unreadable: boom]"}'],
    [
      "a revoked proxy inside",
      [1, revoked()],
      `[1,"[unreadable: Cannot perform 'IsArray' on a proxy that has been revoked]"]`,
    ],
    ["a promise inside", { p: Promise.resolve(1) }, '{"p":"[Promise]"}'],
    ["a stream", new ReadableStream(), "[ReadableStream]"],
    ["a generator, which nobody runs", endlessly(), "[Generator]"],
    ["an iterator inside", { rows: new Map([[1, 2]]).entries() }, '{"rows":"[Map Iterator]"}'],
    ["a weak map", new WeakMap(), "[WeakMap]"],
    [
      "bytes inside",
      { body: Buffer.from("secret"), view: new DataView(new ArrayBuffer(3)) },
      '{"body":"[6 bytes]","view":"[3 bytes]"}',
    ],
  ])("%s becomes text", (_title, value, text) => {
    expect(normalised(value)).toEqual(okResult(text));
  });

  it.each<[string, unknown]>([
    ["a revoked proxy", revoked()],
    ["a throwing toJSON", { toJSON: throwing }],
    [
      "a proxy that refuses everything",
      new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
    ],
  ])("%s becomes an error result", (_title, value) => {
    expect(normalised(value)).toMatchObject({ isError: true, content: [{ type: "text" }] });
  });

  it("marks a cycle where it closes, and no object that is merely shared", () => {
    const cyclic: { name: string; self?: unknown } = { name: "x" };
    cyclic.self = [cyclic];
    expect(normalised(cyclic)).toEqual(okResult('{"name":"x","self":["[circular]"]}'));
    const shared = { a: 1 };
    expect(normalised([shared, shared])).toEqual(okResult([], { structured: [{ a: 1 }, { a: 1 }] }));
  });

  it("gives what is stored: JSON has no minus zero and no holes", () => {
    for (const value of [-0, { a: -0 }, [1, -0], Object.assign(new Array(3), { 1: "x" })]) {
      const { structured } = normalised(value);
      expect(structured).toStrictEqual(JSON.parse(JSON.stringify(value)));
    }
  });

  it("comes to an end with values that have none", () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(normalised(deep).isError).toBe(false);
    expect(bytesOf(normalised(endless()))).toBeLessThanOrEqual(LIMIT);
    expect(bytesOf(normalised(new Array(4_000_000_000)))).toBeLessThanOrEqual(LIMIT);
  });

  it("keeps structured data whole up to the limit, and beyond it gives cut text", () => {
    const fitting = { text: "x".repeat(LIMIT - 11) };
    expect(normalised(fitting)).toEqual(okResult([], { structured: fitting }));
    const cut = normalised({ text: "x".repeat(LIMIT - 10) });
    expect(cut.structured).toBeUndefined();
    expect(contentText(cut.content)).toMatch(/^\{"text":"x+\n\[truncated: \d+ more characters left out\]$/);
  });

  it("leaves structured data out where it and the content are too large together, and says so", () => {
    const result = normalised(okResult("short", { structured: "x".repeat(LIMIT), details: "d".repeat(LIMIT * 2) }));
    expect(contentText(result.content)).toBe("short\n[structured data left out: 1002 characters]");
    expect(result.structured).toBeUndefined();
    expect(result.details).toHaveLength(LIMIT * 2);
  });

  it("does not count images, and keeps them when text is cut", () => {
    const image = { type: "image", source: { base64: "A".repeat(LIMIT * 4) }, mimeType: "image/png" } as const;
    const small = okResult([image, { type: "text", text: "seen" }]);
    expect(normalised(small)).toEqual(small);
    const cut = normalised(
      okResult([{ type: "text", text: "x".repeat(LIMIT * 2) }, image, { type: "text", text: "later" }]),
    );
    expect(cut.content).toHaveLength(2);
    expect(cut.content[1]).toEqual(image);
    expect(contentText(cut.content)).toContain("more characters left out]");
  });

  it("never throws, stays within the limit, can be stored, and changes nothing the second time", () => {
    const odd = fc.constantFrom<() => unknown>(
      () => 7n,
      () => throwing,
      () => Symbol("q"),
      () => new Map([[{}, 1]]),
      () => new Point(),
      revoked,
      () => Number.NaN,
    );
    const text = fc.string({ unit: "binary", maxLength: 600 });
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
    });
    const shaped = fc.record({
      content: fc.oneof(text, anything),
      isError: fc.boolean(),
      structured: fc.oneof(text, anything),
      details: anything,
    });
    const whole = fc.tuple(odd, anything).map(([make, value]) => () => ({ odd: make(), value }));
    const returned = fc.oneof(
      odd,
      whole,
      fc.oneof(text, anything, shaped).map((value) => () => value),
    );
    fc.assert(
      fc.property(returned, fc.integer({ min: 80, max: 400 }), (make, limit) => {
        const value = make();
        const result = normaliseToolReturn(value, limit);
        expect(bytesOf(result)).toBeLessThanOrEqual(limit);
        expect(() => adopt(result, "result")).not.toThrow();
        expect(normaliseToolReturn(result, limit)).toEqual(result);
      }),
      { numRuns: 1_000 },
    );
  });

  it("gives JSON back as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const result = normaliseToolReturn(value, 1_000_000);
        if (typeof value === "string") expect(contentText(result.content)).toBe(value);
        else expect(JSON.stringify(result.structured)).toBe(JSON.stringify(value as Json));
      }),
    );
  });
});
