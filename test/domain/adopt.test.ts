import { describe, expect, it } from "vitest";
import { adopt, copyJson } from "../../src/domain/adopt.js";
import { GivesAnother, GivesItself } from "../support/odd-json.js";

class Hidden {
  readonly #x = 1;
  get x(): number {
    return this.#x;
  }
}

describe("adopt", () => {
  it("asks toJSON once, as JSON text does, also one that answers its own object or another like it", () => {
    for (const value of [new GivesItself(), new GivesAnother(), new Date(0), { toJSON: () => "text" }]) {
      expect(adopt({ value }, "data")).toEqual(JSON.parse(JSON.stringify({ value })));
    }
  });

  it.each([
    [new Map([["a", 1]]), "Map"],
    [new Set([1]), "Set"],
    [Promise.resolve(1), "Promise"],
    [/a/, "RegExp"],
    [new Error("lost"), "Error"],
    [Object(5), "Number"],
    [new WeakMap(), "WeakMap"],
    [new ArrayBuffer(2), "ArrayBuffer"],
  ])("names the place of an instance that would become an empty object: %o", (value, kind) => {
    const text = `data.at[0] is an instance without fields (${kind}), which JSON cannot hold`;
    expect(() => adopt({ at: [value] }, "data")).toThrow(new TypeError(text));
    expect(() => copyJson({ at: [value] }, "data")).toThrow(new TypeError(text));
  });

  it("refuses more elements than it could copy, before it makes room for them", () => {
    const holes = new Array<null>(4_000_000_000);
    expect(() => adopt({ list: [1, holes] }, "data")).toThrow("data.list[1] holds more values than is allowed");
    expect(() => copyJson({ list: Array.from({ length: 40 }, () => new Array<null>(1_000_000)) }, "data")).toThrow(
      "data.list[31] holds more values than is allowed",
    );
  });

  it("takes what has fields, and what is empty by itself", () => {
    expect(adopt({ none: {}, bare: Object.create(null) as object }, "data")).toEqual({ none: {}, bare: {} });
    expect(adopt({ own: new GivesAnother() }, "data")).toEqual({ own: { at: 1 } });
    expect(() => adopt({ at: new Hidden() }, "data")).toThrow("data.at is an instance without fields, which");
  });
});
