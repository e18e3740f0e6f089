import { expect, test } from "vitest";
import { testkitSizes } from "../../scripts/testkit-size.ts";

const { own, parts, whole, packages } = await testkitSizes();

test("what a test of an agent is written with stays under 20 KB, gzipped", () => {
  expect(own).toBeLessThan(20_000);
});

test.each(Object.entries(parts))("%s stays under 20 KB, gzipped, with all it uses of the testkit", (_, bytes) => {
  expect(bytes).toBeLessThan(20_000);
});

test("the parts are the nine tables and the further tools, and the whole is no more than own and parts", () => {
  expect(Object.keys(parts).length).toBeGreaterThan(9);
  expect(own).toBeGreaterThan(1_000);
  expect(whole).toBeGreaterThan(own);
  expect(whole).toBeLessThan(own + Object.values(parts).reduce((sum, bytes) => sum + bytes, 0));
});

test("the testkit brings no package along: no test runner, no mocking library", () => {
  expect(packages).toEqual([]);
});
