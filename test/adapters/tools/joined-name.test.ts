import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinedName } from "../../../src/adapters/tools/joined-name.js";
import { CompositionError } from "../../../src/domain/errors.js";

describe("joinedName", () => {
  it("leaves readable what fits", () => {
    expect(joinedName("github", "create_issue")).toBe("github__create_issue");
    expect(joinedName("my-server_2", "a__b")).toBe("my-server_2__a__b");
  });

  it("keeps a readable beginning of what does not fit, and hashes the rest", () => {
    expect(joinedName("files", "read.file/now")).toMatch(/^files__read_file_now_x[0-9a-f]{32}$/);
    expect(joinedName("1st", "read")).toMatch(/^_1st__read_x[0-9a-f]{32}$/);
    expect(joinedName("日本", "探す")).toMatch(/^_+_x[0-9a-f]{32}$/);
    expect(joinedName("a", "x".repeat(500))).toHaveLength(64);
  });

  it.each([
    [
      ["a", "_b"],
      ["a_", "b"],
    ],
    [
      ["a", "b__c"],
      ["a__b", "c"],
    ],
    [
      ["a.b", "c"],
      ["a_b", "c"],
    ],
    [
      ["a", "b.c"],
      ["a", "b c"],
    ],
    [
      ["a", "b"],
      ["a", "B"],
    ],
    [
      ["a", ""],
      ["a", "_"],
    ],
    [
      ["_", "_"],
      ["__", ""],
    ],
    [
      ["a", "x".repeat(70)],
      ["a", `${"x".repeat(70)}y`],
    ],
    [
      ["a,b", "c"],
      ["a", "b,c"],
    ],
  ])("tells %j from %j", (one, two) => {
    expect(joinedName(...(one as [string, string]))).not.toBe(joinedName(...(two as [string, string])));
  });

  it("does not let a tool take the name that another one was given", () => {
    const [namespace, ...rest] = joinedName("files", "read.file").split("__");
    expect(joinedName(namespace ?? "", rest.join("__"))).not.toBe(joinedName("files", "read.file"));
  });

  it("gives any two pairs two names that every provider accepts", () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b", "1", "_", "-", ".", "é", "__"), maxLength: 6 }),
      fc.string({ unit: "binary", maxLength: 80 }),
    );
    const namespace = part.filter((text) => text !== "");
    fc.assert(
      fc.property(namespace, part, namespace, part, (namespaceA, nameA, namespaceB, nameB) => {
        const [one, two] = [joinedName(namespaceA, nameA), joinedName(namespaceB, nameB)];
        expect(one).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
        expect(one === two).toBe(namespaceA === namespaceB && nameA === nameB);
      }),
      { numRuns: 2_000 },
    );
  });

  it("refuses an empty namespace", () => {
    expect(() => joinedName("", "a")).toThrow(CompositionError);
  });
});
