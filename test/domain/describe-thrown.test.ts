import fc from "fast-check";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { describeThrown } from "../../src/domain/describe-thrown.js";
import { ToolError } from "../../src/domain/errors.js";

class Refused {
  readonly code = 7;
}

describe("describeThrown", () => {
  it.each<[string, unknown]>([
    ["plain", "plain"],
    ['""', ""],
    ['{"code":7,"message":"obj"}', { code: 7, message: "obj" }],
    ["undefined", undefined],
    ["null", null],
    ["7", 7n],
    ["words", new Error("words")],
    ["RangeError", new RangeError()],
    ["ToolError(timeout): late", new ToolError("timeout", "late")],
    ["one; two", new AggregateError([new Error("one"), "two"])],
    ["far", runInNewContext('new Error("far")')],
    ['{"code":7}', new Refused()],
    ["Error", Object.assign(new Error("hidden"), { message: 5 })],
  ])("tells case %# as %s", (text, thrown) => {
    expect(describeThrown(thrown)).toBe(text);
  });

  it("neither throws, nor is empty, nor says [object Object]", () => {
    const get = (): never => {
      throw new Error("no");
    };
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const hostile = [new Proxy({}, { get }), cyclic, get, class {}, new Refused(), Symbol("s")];
    const thrown = fc.oneof(
      fc.constantFrom(...hostile.map((value) => () => value as unknown)),
      fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true }).map((value) => () => value),
    );
    fc.assert(
      fc.property(thrown, (make) => {
        expect(describeThrown(make())).not.toBe("");
        expect(describeThrown(make())).not.toContain("[object Object]");
      }),
    );
  });
});
