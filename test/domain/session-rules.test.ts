import { describe, expect, test } from "vitest";
import { sameJson } from "../../src/domain/json.js";
import {
  applyAppend,
  applySave,
  matchesMetadata,
  pageRequest,
  patchMetadata,
  storable,
} from "../../src/domain/session-rules.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";

const compaction = { upTo: "m", messages: [] };

describe("applyAppend", () => {
  test.each([
    ["raises the revision by one on the stored base", 3, deltaOf("o", 3, [note("m")]), { type: "write", revision: 4 }],
    ["raises it without messages too", 3, deltaOf("o", 3, []), { type: "write", revision: 4 }],
    ["leaves it for a patch without a base", 3, deltaOf("o", undefined, []), { type: "write", revision: 3 }],
  ])("%s", (_title, revision, delta, decision) => {
    expect(applyAppend("s", { revision }, delta)).toEqual(decision);
  });

  test.each([
    [
      "an older base",
      deltaOf("o", 2, []),
      'SessionError(conflict): session "s" is at revision 3, the write is based on 2',
    ],
    [
      "a newer base",
      deltaOf("o", 4, []),
      'SessionError(conflict): session "s" is at revision 3, the write is based on 4',
    ],
    [
      "messages without a base",
      deltaOf("o", undefined, [note("m")]),
      "without a base revision a write may carry metadata",
    ],
    ["a compaction without a base", deltaOf("o", undefined, [], { compaction }), "a write may carry metadata only"],
  ])("refuses %s", (_title, delta, text) => {
    const decision = applyAppend("s\n", { revision: 3 }, delta);
    expect(decision).toMatchObject({ type: "refuse", error: { message: expect.stringContaining(text) } });
  });

  test("answers for an operation applied before, whatever its base, and before anything else is looked at", () => {
    const stored = { revision: 9, appliedAs: 0 };
    expect(applyAppend("s", stored, deltaOf("o", 2, [note("m")]))).toEqual({ type: "applied", revision: 0 });
    expect(applyAppend("s", stored, deltaOf("o", undefined, [note("m")]))).toEqual({ type: "applied", revision: 0 });
  });
});

describe("applySave", () => {
  const session = { messages: [], metadata: {}, revision: 3 };

  test("goes on from the stored revision, also when it replaces", () => {
    expect(applySave("s", { revision: 3 }, session)).toEqual({ type: "write", revision: 4 });
    expect(applySave("s", { revision: 7 }, session, { replace: true })).toEqual({ type: "write", revision: 8 });
    expect(applySave("s", { revision: 3 }, { ...session, from: 0 })).toEqual({ type: "write", revision: 4 });
  });

  test("refuses another revision, and a part of a session even as a replacement", () => {
    expect(applySave("s", { revision: 4 }, session)).toMatchObject({ type: "refuse", error: { kind: "conflict" } });
    const part = { ...session, from: 1 };
    expect(applySave("s", { revision: 3 }, part, { replace: true })).toMatchObject({
      type: "refuse",
      error: { kind: "save", message: expect.stringContaining("only the messages from 1 on are here") },
    });
  });
});

describe("metadata", () => {
  test("a patch sets and unsets own keys only, __proto__ like any other, and changes neither side", () => {
    const current = Object.freeze(JSON.parse('{"a":1,"__proto__":{"x":1},"b":2}') as Record<string, number>);
    const set = JSON.parse('{"b":null,"c":3}') as Record<string, number>;
    expect(JSON.stringify(patchMetadata(current, set, ["a", "toString"]))).toBe('{"__proto__":{"x":1},"b":null,"c":3}');
    expect(JSON.stringify(patchMetadata(current, { a: 5 }, ["__proto__", "a"]))).toBe('{"b":2,"a":5}');
    const proto = patchMetadata({}, JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, number>);
    expect(Object.keys(proto)).toEqual(["__proto__"]);
    expect("polluted" in proto).toBe(false);
    expect(Object.isFrozen(proto)).toBe(true);
  });

  test("matches by equality of own keys", () => {
    const metadata = { n: 5, o: { a: [1], b: null } };
    expect(matchesMetadata(metadata)).toBe(true);
    expect(matchesMetadata(metadata, { n: 5, o: { b: null, a: [1] } })).toBe(true);
    for (const filter of [{ n: "5" }, { o: { a: [1] } }, { ["__proto__"]: {} }, { m: 5 }, { o: { a: [1], c: null } }]) {
      expect(matchesMetadata(metadata, filter)).toBe(false);
    }
  });

  test("JSON values are the same only in type, depth and the order of items", () => {
    expect(sameJson({ a: 1, b: [1, "2"] }, { b: [1, "2"], a: 1 })).toBe(true);
    const different = [
      [
        [1, 2],
        [2, 1],
      ],
      [[], {}],
      [null, {}],
      ["1", 1],
      [{ a: 1 }, JSON.parse('{"__proto__":1}')],
    ] as const;
    for (const [a, b] of different) expect(sameJson(a, b as never)).toBe(false);
  });
});

test("what cannot be stored is a save error that names the place", () => {
  const fault = expect.objectContaining({
    kind: "save",
    message: expect.stringContaining("message.content[0] is a bigint"),
  });
  expect(() => storable({ content: [1n] }, "message")).toThrow(fault);
  const trap = {
    toJSON: () => {
      throw new Error("secret");
    },
  };
  expect(() => storable(trap, "message")).toThrow(
    expect.objectContaining({ kind: "save", message: expect.not.stringContaining("secret") }),
  );
});

test("a page request has a limit and a place to begin, or is a load error", () => {
  expect(pageRequest({})).toEqual({ limit: 100, before: Number.MAX_SAFE_INTEGER });
  expect(pageRequest({ limit: 7, cursor: "12" })).toEqual({ limit: 7, before: 12 });
  for (const query of [
    { limit: 0 },
    { limit: Number.NaN },
    { limit: 1.5 },
    { cursor: "" },
    { cursor: "-1" },
    { cursor: "1e3" },
  ]) {
    expect(() => pageRequest(query)).toThrow(expect.objectContaining({ kind: "load" }));
  }
});
