import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { orderResults, UNKNOWN_OUTCOME } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { temporaryDirectory } from "../adapters/sessions/sqlite-fixture.js";
import { leaseOf, linesOf, sent } from "../support/conversations.js";
import { annotated, IDEMPOTENT, pendingIn, ran, READ_ONLY } from "../support/resuming.js";

const LEASE_MS = 60_000;
const directory = temporaryDirectory();
const program = join(directory.path, "crash.mjs");

beforeAll(async () => {
  const source = fileURLToPath(new URL("crash-program.ts", import.meta.url));
  await build({ entryPoints: [source], outfile: program, bundle: true, platform: "node", format: "esm" });
});
afterAll(() => directory[Symbol.dispose]());

type Task = "begin" | "resume" | "approve";

/** A place of its own for each case: a store, and the file of the tools' effects. */
function place(name: string) {
  const path = join(directory.path, name.replaceAll(" ", "-"));
  mkdirSync(path);
  const [sessions, effects] = [join(path, "sessions.db"), join(path, "effects.txt")];
  const start = (task: Task, point: string) =>
    spawn(process.execPath, [program, task, point, sessions, effects], { stdio: ["ignore", "pipe", "inherit"] });
  return {
    sessions,
    /** Runs a process until it is at this point, and kills it there. */
    async kill(task: Task, point: string): Promise<void> {
      const child = start(task, point);
      const lines: string[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line);
        child.kill("SIGKILL");
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      expect([lines, child.signalCode]).toEqual([["there"], "SIGKILL"]);
    },
    /** Runs a process to its end; how its turn ended. */
    async finish(task: Task): Promise<unknown> {
      const child = start(task, "nowhere");
      let printed = "";
      child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
      const [code] = (await once(child, "close")) as [unknown];
      expect(code).toBe(0);
      return JSON.parse(printed) as unknown;
    },
    /** How often each tool ran, over all processes. */
    effects(): Record<string, number> {
      const counts: Record<string, number> = { read: 0, put: 0, pay: 0 };
      if (!existsSync(effects)) return counts;
      for (const line of readFileSync(effects, "utf8").trim().split("\n")) {
        const name = line.slice(0, line.indexOf(" "));
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    },
    async session() {
      await using store = new SqliteSessionStore({ path: sessions });
      return await store.load("s");
    },
  };
}

type Place = ReturnType<typeof place>;

/** Every call has exactly one result, nothing waits, and nobody holds the session. */
async function expectSettled(at: Place): Promise<string[]> {
  const session = await at.session();
  expect(transcriptLaw(orderResults(session.messages))).toEqual([]);
  expect(leaseOf(session)).toBeUndefined();
  expect(session.metadata).not.toHaveProperty([SESSION_KEYS.deferred]);
  return linesOf(orderResults(session.messages));
}

const fine = (id: string, name: string): string => `${id} = ${name} done`;
const unknown = (id: string): string => `${id} = !${UNKNOWN_OUTCOME}`;
const all = [fine("c1", "read"), fine("c2", "put"), fine("c3", "pay")];
const payUnknown = [fine("c1", "read"), fine("c2", "put"), unknown("c3")];

type Case = {
  readonly point: string;
  /** How often read, put and pay ran before and after. */
  readonly before: readonly [number, number, number];
  readonly after: readonly [number, number, number];
  /** The outcomes that the resumed turn adds. */
  readonly results: Readonly<Record<string, string>>;
  readonly told: readonly string[];
};

const done = "completed";
const cases: readonly Case[] = [
  { point: "input stored", before: [0, 0, 0], after: [1, 1, 1], results: { c1: done, c2: done, c3: done }, told: all },
  {
    point: "model streaming",
    before: [0, 0, 0],
    after: [1, 1, 1],
    results: { c1: done, c2: done, c3: done },
    told: all,
  },
  {
    point: "reply stored",
    before: [0, 0, 0],
    after: [1, 1, 0],
    results: { c1: done, c2: done, c3: "unknown" },
    told: payUnknown,
  },
  {
    point: "tools running",
    before: [1, 1, 1],
    after: [2, 2, 1],
    results: { c1: done, c2: done, c3: "unknown" },
    told: payUnknown,
  },
  {
    point: "one of three finished",
    before: [1, 1, 1],
    after: [1, 2, 1],
    results: { c2: done, c3: "unknown" },
    told: payUnknown,
  },
  {
    point: "results on their way",
    before: [1, 1, 1],
    after: [2, 2, 1],
    results: { c1: done, c2: done, c3: "unknown" },
    told: payUnknown,
  },
  { point: "results stored", before: [1, 1, 1], after: [1, 1, 1], results: {}, told: all },
];

const counts = ([read, put, pay]: readonly [number, number, number]) => ({ read, put, pay });

test.each(cases)(
  "killed with $point, a turn is resumed by another process: one result a call, no effect twice (S6, S2)",
  async ({ point, before, after, results, told }) => {
    const at = place(point);
    await at.kill("begin", point);
    expect(at.effects()).toEqual(counts(before));
    expect(leaseOf(await at.session())).toBeDefined();
    expect(await at.finish("resume")).toEqual({ status: "completed", text: "done", deferred: [], results });
    expect(at.effects()).toEqual(counts(after));
    expect(await expectSettled(at)).toEqual(["user go", "calls c1,c2,c3", ...told, "assistant done"]);
    expect(await at.finish("resume")).toEqual({ error: "nothing-to-resume" });
    expect(at.effects()).toEqual(counts(after));
  },
);

test("killed before the final event, a turn is over in the store: there is nothing to resume (S6)", async () => {
  const at = place("before the final event");
  await at.kill("begin", "before the final event");
  expect(await expectSettled(at)).toEqual(["user go", "calls c1,c2,c3", ...all, "assistant done"]);
  expect(await at.finish("resume")).toEqual({ error: "nothing-to-resume" });
  expect(at.effects()).toEqual(counts([1, 1, 1]));
});

test("killed again while it is resumed, a turn still comes to one result a call (S6)", async () => {
  const at = place("twice");
  await at.kill("begin", "tools running");
  await at.kill("resume", "tools running");
  expect(at.effects()).toEqual(counts([2, 2, 1]));
  const ended = await at.finish("resume");
  expect(ended).toMatchObject({ status: "completed", text: "done" });
  expect(at.effects()).toEqual(counts([3, 3, 1]));
  expect(await expectSettled(at)).toEqual(["user go", "calls c1,c2,c3", ...payUnknown, "assistant done"]);
});

test("killed while its siblings run, a turn keeps the deferred call pending; approved, it runs once (S6, U5)", async () => {
  const at = place("call deferred");
  await at.kill("begin", "call deferred");
  expect(pendingIn(await at.session())).toEqual(["c3"]);
  const ended = await at.finish("resume");
  expect(ended).toMatchObject({ status: "deferred", deferred: ["c3"], results: { c1: done, c2: done } });
  expect(at.effects()["pay"]).toBe(0);
  expect(await at.finish("approve")).toMatchObject({ status: "completed", text: "done", results: { c3: done } });
  expect(at.effects()["pay"]).toBe(1);
  expect(await expectSettled(at)).toEqual(["user go", "calls c1,c2,c3", ...all, "assistant done"]);
  expect(await at.finish("approve")).toEqual({ error: "invalid-input" });
});

test("killed between a decision and its call, a turn does not run the call: nobody knows whether it did (S6, U5)", async () => {
  const at = place("decision taken");
  await at.kill("begin", "call deferred");
  await at.finish("resume");
  await at.kill("approve", "decision taken");
  expect(await at.finish("approve")).toEqual({ error: "invalid-input" });
  expect(await at.finish("resume")).toMatchObject({ status: "completed", results: { c3: "unknown" } });
  expect(at.effects()["pay"]).toBe(0);
  expect(await expectSettled(at)).toEqual(["user go", "calls c1,c2,c3", ...payUnknown, "assistant done"]);
});

test("without takeOver the session of a killed process is resumed once its lease is dead (S6, S2)", async () => {
  const at = place("waiting");
  await at.kill("begin", "tools running");
  await using store = new SqliteSessionStore({ path: at.sessions });
  const tools = annotated({ read: READ_ONLY, put: IDEMPOTENT, pay: {} });
  await using t = await testAgent({ script: [stopResponse("done")], tools, sessions: [store] });
  const turn = t.agent.resumeTurn("s");
  await t.runtime.advance(LEASE_MS - 1_000);
  expect([t.model.callCount, ran(t)]).toEqual([0, []]);
  await t.runtime.advance(2_000);
  expect(await turn).toMatchObject({ status: "completed", text: "done" });
  expect(ran(t)).toEqual(["c1", "c2"]);
  expect(sent(t)).toEqual(["user go", "calls c1,c2,c3", ...payUnknown]);
  await expectSettled(at);
});
