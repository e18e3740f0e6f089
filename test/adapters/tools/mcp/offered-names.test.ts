import fc from "fast-check";
import { expect, test } from "vitest";
import { offeredNames, serverPrefixes } from "../../../../src/adapters/tools/mcp/offered-names.js";

const LEGAL = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

test("plain names stay readable", () => {
  expect([...serverPrefixes(["files", "web-1", "a_b"])]).toEqual([
    ["files", "files"],
    ["web-1", "web-1"],
    ["a_b", "a_b"],
  ]);
  expect([...offeredNames("files", ["read_file", "get-sum"]).values()]).toEqual(["files__read_file", "files__get-sum"]);
});

test("no two tools of any servers have one name, and every provider of models accepts each", () => {
  const word = fc.oneof(
    fc.string({ maxLength: 80, unit: "grapheme" }),
    fc.stringMatching(/^[a-c_-]{1,6}$/),
    fc.stringMatching(/^[a-z]{60,90}$/),
  );
  const servers = fc.uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 8 })), {
    maxLength: 6,
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(servers, (all) => {
      const prefixes = serverPrefixes(all.map(([server]) => server));
      const names = all.flatMap(([server, tools]) => [...offeredNames(prefixes.get(server) ?? "", tools).values()]);
      expect(new Set(names).size).toBe(all.flatMap(([, tools]) => tools).length);
      for (const name of names) expect(name).toMatch(LEGAL);
    }),
    { numRuns: 2_000 },
  );
});

test("a tool cannot take the name that another would get", () => {
  const long = "x".repeat(100);
  const [made] = [...offeredNames("s", [long]).values()];
  const thief = (made ?? "").slice("s__".length);
  const names = offeredNames("s", [thief, long]);
  expect(names.get(thief)).toBe(made);
  expect(names.get(long)).not.toBe(made);
  expect(serverPrefixes(["a b", "a-b", "a_", "a__b"]).size).toBe(4);
});
