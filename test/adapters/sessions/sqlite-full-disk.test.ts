import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { textOf } from "../../../src/domain/message.js";
import { pendingCalls } from "../../../src/domain/deferred-calls.js";
import { openCalls, orderResults } from "../../../src/domain/transcript.js";
import { transcriptLaw } from "../../../src/domain/transcript-law.js";
import { childPrograms, startChild } from "../../support/child-programs.js";
import { describeWith, type Found } from "../../support/servers.js";
import { sqlOn, temporaryDirectory } from "./sqlite-fixture.js";

const programs = childPrograms();
let program: string;
beforeAll(async () => {
  program = await programs.bundle("test/adapters/sessions/full-disk-agent.ts");
});
afterAll(() => programs[Symbol.dispose]());

/** A place that has room for so much, and how to make more. */
type SmallDisk = { readonly path: string; readonly wrap: readonly string[]; grow(pid: number): void; remove(): void };

/** No file of the process may become larger: SQLite is refused its write, as by a quota. */
function limitedFiles(directory: string): SmallDisk {
  return {
    path: join(directory, "sessions.db"),
    wrap: ["prlimit", "--fsize=2000000:unlimited"],
    grow: (pid) => void execFileSync("prlimit", ["--pid", String(pid), "--fsize=unlimited"]),
    remove: () => undefined,
  };
}

/** A file system of its own, which is really full. */
function smallFileSystem(directory: string): SmallDisk {
  const place = join(directory, "disk");
  mkdirSync(place);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", place], { stdio: "pipe" });
  return {
    path: join(place, "sessions.db"),
    wrap: [],
    grow: () => void execFileSync("mount", ["-o", "remount,size=100m", place]),
    remove: () => void execFileSync("umount", [place]),
  };
}

function found(make: (directory: string) => SmallDisk, why: string): Found<typeof make> {
  using directory = temporaryDirectory();
  try {
    const disk = make(directory.path);
    execFileSync(disk.wrap[0] ?? "true", disk.wrap.length > 0 ? [...disk.wrap.slice(1), "true"] : [], {
      stdio: "pipe",
    });
    disk.remove();
    return { found: make };
  } catch {
    return { missing: why };
  }
}

function suite(make: (directory: string) => SmallDisk): void {
  test("a turn that finds no room is a typed error, the session is intact, and the agent goes on once there is room", async () => {
    using directory = temporaryDirectory();
    const disk = make(directory.path);
    try {
      await using child = startChild(program, { path: disk.path }, disk.wrap);
      await child.printedLine(/^(?!completed)/);
      const completed = child.lines.length - 1;
      expect(completed).toBeGreaterThan(2);
      expect(child.lines.at(-1)).toBe("session SessionError save");

      const before = await stored(disk.path);
      expectWholeTurns(before.messages, completed);
      const open = openCalls(before.messages).map(({ call }) => call.id);
      expect(transcriptLaw(orderResults(before.messages), { pending: open })).toEqual([]);
      expect(pendingCalls({ metadata: before.metadata, openCalls: [] })).toEqual([]);

      disk.grow(child.process.pid ?? 0);
      child.process.stdin.write("go on\n");
      await child.printedLine(new RegExp(`^completed ${completed + 1}$`));
      child.process.stdin.end();
      expect(await child.ended()).toEqual({ code: 0, noise: "" });
      const after = await stored(disk.path);
      expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages);
      expect(transcriptLaw(orderResults(after.messages))).toEqual([]);
      expect(after.metadata).not.toHaveProperty(["ennead.turn"]);
      expect(sqlOn(disk.path, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    } finally {
      disk.remove();
    }
  });
}

async function stored(path: string) {
  await using store = new SqliteSessionStore({ path });
  return await store.load("s");
}

/** Everything that was acknowledged is there, and in order. */
function expectWholeTurns(messages: Awaited<ReturnType<typeof stored>>["messages"], turns: number): void {
  const roles = messages.map(({ role }) => role);
  expect(roles.slice(0, turns * 4)).toEqual(
    Array.from({ length: turns }, () => ["user", "assistant", "tool", "assistant"]).flat(),
  );
  for (let n = 0; n < turns; n++) expect(textOf(messages[n * 4] as never)).toBe(`turn ${n}`);
}

describeWith(
  "SqliteSessionStore where files may grow no more",
  found(limitedFiles, "there is no prlimit, or it may not be used"),
  suite,
);
describeWith("SqliteSessionStore on a full disk", found(smallFileSystem, "no file system can be mounted here"), suite);
