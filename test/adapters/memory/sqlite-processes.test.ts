import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sqliteMemoryFixture } from "./sqlite-memory-fixture.js";

const fixture = sqliteMemoryFixture();
const program = join(dirname(fixture.path), "writer.mjs");

beforeAll(async () => {
  const source = fileURLToPath(new URL("sqlite-memory-writer.ts", import.meta.url));
  await build({ entryPoints: [source], outfile: program, bundle: true, platform: "node", format: "esm" });
});
afterAll(() => fixture[Symbol.asyncDispose]());

function startWriter(name: string, count: number) {
  const args = [program, fixture.path, name, String(count)];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

/** Fails where the index and the entries do not belong together. */
function expectSound(): void {
  fixture.sql("INSERT INTO ennead_memory_words (ennead_memory_words) VALUES ('integrity-check')");
  const [totals] = fixture.sql("SELECT entries FROM ennead_memory_totals");
  for (const table of ["ennead_memories", "ennead_memory_words", "(SELECT DISTINCT entry FROM ennead_memory_fields)"]) {
    expect(fixture.sql(`SELECT count(*) AS entries FROM ${table}`), table).toEqual([totals]);
  }
}

describe("SqliteMemory in several processes", () => {
  test("loses and doubles nothing when three write to a new file at once", async () => {
    const names = ["a", "b", "c"];
    const writers = names.map((name) => startWriter(name, 60));
    for (const writer of writers) writer.stdout.resume();
    for (const [code] of await Promise.all(writers.map((writer) => once(writer, "close")))) expect(code).toBe(0);
    const kept = Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 3 !== 2 || n === 59);
    const hits = await fixture.memory.search({ query: "apple", topK: 1_000 });
    expect(hits.map(({ id }) => id).sort()).toEqual(names.flatMap((name) => kept.map((n) => `${name}.${n}`)).sort());
    expect(await fixture.memory.search({ query: "pear" })).toMatchObject([{ id: "shared" }]);
    expectSound();
  });

  test("keeps what a process that is killed was told is stored, and nothing by halves", async () => {
    const writer = startWriter("killed", 1_000_000);
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: writer.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length === 40) writer.kill("SIGKILL");
    }
    const hits = await fixture.memory.search({ query: "apple", topK: 1_000_000, filter: { name: "killed" } });
    const found = new Set(hits.map(({ id }) => id));
    for (const id of acknowledged.filter((_id, n) => n % 3 !== 2)) expect(found.has(id), id).toBe(true);
    expectSound();
  });
});
