import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { entries } from "../scripts/entries.ts";
import { makersOf, portOfTable, wordsOf } from "./support/adapters-of.ts";

const makers = makersOf(entries.map(({ source }) => source));
const tests = globSync("test/**/*.test.ts").map((path) => wordsOf(path));

/** Whether a test runs this table and speaks of this adapter. */
function isClaimed(name: string, table: string): boolean {
  return tests.some(
    (words) =>
      words.has(name) &&
      words.has(table) &&
      (words.has("runClaims") || words.has("checkClaims") || words.has("proveClaims")),
  );
}

test("the compiler finds the adapters of every port, and the fakes among them", () => {
  for (const table of Object.keys(portOfTable)) {
    const found = makers.filter((maker) => maker.table === table);
    expect(
      found.some(({ source }) => source === "src/testkit/index.ts"),
      table,
    ).toBe(true);
    expect(
      found.some(({ source }) => source.startsWith("src/adapters/")),
      table,
    ).toBe(true);
  }
});

test.each(makers.map(({ source, name, table }) => [name, source, table]))("%s of %s keeps the %s", (name, _, table) => {
  expect(isClaimed(name, table)).toBe(true);
});
