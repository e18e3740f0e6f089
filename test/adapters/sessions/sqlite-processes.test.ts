import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { sqlOn, temporaryDirectory } from "./sqlite-fixture.js";

const directory = temporaryDirectory();
const program = join(directory.path, "writer.mjs");

beforeAll(async () => {
  const source = fileURLToPath(new URL("sqlite-writer.ts", import.meta.url));
  await build({ entryPoints: [source], outfile: program, bundle: true, platform: "node", format: "esm" });
});
afterAll(() => directory[Symbol.dispose]());

type Writer = ChildProcessByStdio<null, Readable, Readable>;

function startWriter(path: string, name: string, count: number): Writer {
  return spawn(process.execPath, [program, path, name, String(count)], { stdio: ["ignore", "pipe", "pipe"] });
}

async function finish(writer: Writer): Promise<{ code: number | null; noise: string }> {
  let noise = "";
  writer.stderr.on("data", (chunk: Buffer) => (noise += chunk.toString()));
  writer.stdout.resume();
  const [code] = (await once(writer, "close")) as [number | null];
  return { code, noise };
}

describe("SqliteSessionStore in several processes", () => {
  test("loses and doubles nothing when four processes append to one session of a new file", async () => {
    const path = join(directory.path, "shared.db");
    const each = 250;
    const names = ["a", "b", "c", "d"];
    const ends = await Promise.all(names.map((name) => finish(startWriter(path, name, each))));
    expect(ends).toEqual(names.map(() => ({ code: 0, noise: "" })));

    await using store = new SqliteSessionStore({ path });
    const { messages, revision, metadata } = await store.load("shared");
    const ids = messages.map(({ id }) => id);
    for (const name of names) {
      const own = ids.filter((id) => id.startsWith(name));
      expect(own).toEqual(Array.from({ length: each }, (_, n) => `${name}.${n}`));
    }
    expect([ids.length, revision]).toEqual([each * names.length, each * names.length]);
    expect(metadata).toEqual({ a: each - 1, b: each - 1, c: each - 1, d: each - 1 });
  });

  test("keeps every acknowledged append of a process that is killed, and nothing by halves", async () => {
    const path = join(directory.path, "killed.db");
    const writer = startWriter(path, "k", 1_000_000);
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: writer.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length === 40) writer.kill("SIGKILL");
    }
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
    expect(writer.signalCode).toBe("SIGKILL");

    await using store = new SqliteSessionStore({ path });
    const { messages, revision, metadata } = await store.load("shared");
    const ids = messages.map(({ id }) => id);
    expect(ids.slice(0, acknowledged.length)).toEqual(acknowledged);
    expect(ids.length - acknowledged.length).toBeLessThanOrEqual(1);
    expect([revision, metadata]).toEqual([ids.length, { k: ids.length - 1 }]);
    expect(sqlOn(path, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect(await store.append("shared", { operationId: "next", baseRevision: revision, messages: [] })).toBe(
      revision + 1,
    );
  });

  test("importing the entry loads no SQLite and prints nothing", async () => {
    const entry = join(directory.path, "entry.mjs");
    const source = fileURLToPath(new URL("../../../src/adapters/sessions/sqlite.ts", import.meta.url));
    await build({ entryPoints: [source], outfile: entry, bundle: true, platform: "node", format: "esm" });
    const script = `await import(${JSON.stringify(entry)}); console.log(process.moduleLoadList.filter((m) => m.endsWith("sqlite")));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await once(child, "close");
    expect(output).toBe("[]\n");
  });
});
