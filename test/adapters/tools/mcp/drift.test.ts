import { expect, test } from "vitest";
import { Drift } from "../../../../src/adapters/tools/mcp/drift.js";

test("a server that makes up tools without end is remembered up to a limit, and what it had keeps its approval", () => {
  const drift = new Drift(undefined);
  const see = (name: string, fingerprint = "first") => drift.see(name, { fingerprint } as never).kind;
  for (let nth = 0; nth < 100_000; nth++) see(`s__${nth}`);
  expect([see("s__new"), see("s__new"), see("s__0"), see("s__0", "other")]).toEqual([
    "unknown",
    "unknown",
    "as-approved",
    "changed",
  ]);
  expect(drift.approve("s__new")).toBe(false);
  expect(Object.keys(drift.fingerprints())).toHaveLength(100_000);
});
