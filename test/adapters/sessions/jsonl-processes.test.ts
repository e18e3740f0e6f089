import { afterAll, beforeAll, expect, test } from "vitest";
import { childPrograms, startChild } from "../../support/child-programs.js";
import { jsonlFixture } from "./jsonl-fixture.js";

const programs = childPrograms();
let program: string;

beforeAll(async () => {
  program = await programs.bundle("test/adapters/sessions/server-writer.ts");
});
afterAll(() => programs[Symbol.dispose]());

test("eight processes that append to one session of a new directory lose, double and mix nothing", async () => {
  await using fixture = jsonlFixture();
  const names = Array.from({ length: 8 }, (_, n) => `p${n}`);
  const each = 40;
  const place = { kind: "jsonl", url: fixture.directory, name: "" };
  const children = names.map((name) => startChild(program, { place, name, count: each, sessions: ["shared"] }));
  const ends = await Promise.all(children.map((child) => child.ended()));
  expect(ends).toEqual(names.map(() => ({ code: 0, noise: "" })));

  const { messages, revision, metadata } = await fixture.store.load("shared");
  const ids = messages.map(({ id }) => id);
  const writes = Array.from({ length: ids.length / 3 }, (_, n) => ids.slice(n * 3, n * 3 + 3));
  const operations = writes.map(([first = ""]) => first.slice(0, -2));
  expect(writes).toEqual(operations.map((operation) => ["a", "b", "c"].map((part) => `${operation}.${part}`)));
  for (const name of names) {
    const own = operations.filter((operation) => operation.startsWith(`${name}.`));
    expect(own).toEqual(Array.from({ length: each }, (_, n) => `${name}.${n}`));
  }
  expect([operations.length, revision]).toEqual([8 * each, 8 * each]);
  expect(metadata).toEqual({ ...Object.fromEntries(names.map((name) => [name, each - 1])), last: operations.at(-1) });
});
