import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as testkit from "../../src/testkit/index.js";

const tables = Object.keys(testkit).filter(
  (name) => name.endsWith("Claims") && Array.isArray(Reflect.get(testkit, name)),
);
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"));

test.each(tables)("%s is proved: every claim has an adapter that breaks it", (table) => {
  const proofs = [`proveClaims("${table}"`, `expect(Object.keys(broken)).toEqual(${table}.map(({ id }) => id))`];
  expect(files.filter((text) => proofs.some((proof) => text.includes(proof)))).toHaveLength(1);
});

test("no two claims have the same id, so that a report needs no other name", () => {
  const ids = tables.flatMap((name) => (Reflect.get(testkit, name) as readonly { id: string }[]).map(({ id }) => id));
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});
