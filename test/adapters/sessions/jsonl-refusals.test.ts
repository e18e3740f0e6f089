import { execFile } from "node:child_process";
import { chmodSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { childPrograms } from "../../support/child-programs.js";
import { jsonlFixture } from "./jsonl-fixture.js";
import type { RefusedTask } from "./jsonl-refused-writer.js";

const programs = childPrograms();
let program: string;

beforeAll(async () => {
  program = await programs.bundle("test/adapters/sessions/jsonl-refused-writer.ts");
});
afterAll(() => programs[Symbol.dispose]());

/** What the program prints, started with these limits of the shell. */
function printed(task: RefusedTask, limits = ""): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const command = `${limits} exec "$0" "$@"`;
    execFile("sh", ["-c", command, process.execPath, program, JSON.stringify(task)], (error, stdout) => {
      if (error === null) resolve(stdout.trimEnd().split("\n"));
      else reject(error);
    });
  });
}

test("without room a write is a typed error that costs itself alone, and everything works when there is room again", async () => {
  await using fixture = jsonlFixture();
  const { directory, store } = fixture;
  // A file that has reached its limit takes a part of a record, and then nothing, like a disk that is full.
  const lines = await printed({ directory, way: "full" }, "trap '' XFSZ; ulimit -f 16;");
  expect(lines).toEqual([
    "append 0: done",
    "append 1: done",
    "append 2: save there was room for a part of the record only",
    'append 3: conflict session "s" is at revision 2, the write is based on 3',
    expect.stringMatching(/^save: save \w+ failed with EFBIG$/),
    "append to another: done",
    "2 messages",
    "load: done",
  ]);
  expect(readdirSync(directory).sort()).toEqual(["s.jsonl", "t.jsonl"]);
  expect(await store.append("s", deltaOf("o2", 2, [note("m2")]))).toBe(3);
  expect((await fixture.reopen().load("s")).messages.map(({ id }) => id)).toEqual(["m0", "m1", "m2"]);
});

test("a read-only file and directory can be loaded and listed; each write is a typed error without effect", async () => {
  await using fixture = jsonlFixture();
  const { directory, store } = fixture;
  await store.append("s", deltaOf("o", 0, [note("m")]));
  chmodSync(fixture.fileOf("s"), 0o444);
  chmodSync(directory, 0o555);
  chmodSync(`${directory}/..`, 0o755);
  expect(await printed({ directory, way: "unprivileged" })).toEqual([
    "1 messages",
    "load: done",
    "append: save open failed with EACCES",
    "append to another: save open failed with EACCES",
    "save: save open failed with EACCES",
    "delete: save open failed with EACCES",
    "list: done",
  ]);
  chmodSync(fixture.fileOf("s"), 0o600);
  chmodSync(directory, 0o700);
  expect(await store.append("s", deltaOf("o9", 1, [note("n")]))).toBe(2);
});

test("in a read-only directory a session can be appended to, and not be saved or deleted", async () => {
  await using fixture = jsonlFixture();
  const { directory, store } = fixture;
  await store.append("s", deltaOf("o", 0, [note("m")]));
  chmodSync(fixture.fileOf("s"), 0o666);
  chmodSync(directory, 0o555);
  chmodSync(`${directory}/..`, 0o755);
  expect(await printed({ directory, way: "unprivileged" })).toEqual([
    "1 messages",
    "load: done",
    "append: done",
    "append to another: save open failed with EACCES",
    "save: save open failed with EACCES",
    "delete: save open failed with EACCES",
    "list: done",
  ]);
  chmodSync(directory, 0o700);
  expect((await store.load("s")).messages.map(({ id }) => id)).toEqual(["m", "n"]);
});
