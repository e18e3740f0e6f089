import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryDirectory } from "../adapters/sessions/sqlite-fixture.js";

const directory = temporaryDirectory();
const program = join(directory.path, "exit.mjs");

beforeAll(async () => {
  const source = fileURLToPath(new URL("process-exit-program.ts", import.meta.url));
  await build({ entryPoints: [source], outfile: program, bundle: true, platform: "node", format: "esm" });
});
afterAll(() => directory[Symbol.dispose]());

type Ended = { readonly code: unknown; readonly printed: string };

async function ending(name: string): Promise<Ended> {
  const child = spawn(process.execPath, [program, name], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [unknown];
  return { code, printed: printed.trim() };
}

test.each([
  ["a shut-down while a model hangs (A2)", "shutdown", "aborted"],
  ["an abort while a model hangs (L5)", "abort", "aborted"],
  ["a hook that outlasts its time (A4)", "hook", "completed"],
  ["a store that outlasts its time (S1)", "store", "AgentError: AgentError(session): could not append to session s"],
  ["a listener that outlasts its time (T7)", "listener", "completed"],
  [
    "a turn that outlasts its time (L2)",
    "timeout",
    "AgentError: AgentError(budget-exceeded): turnTimeoutMs is used up",
  ],
  ["a tool that outlasts a deadline (A5)", "deadline", "AgentError: AgentError(budget-exceeded): deadline is used up"],
  ["a tool that outlasts its time (U7)", "tool", "unknown"],
  ["a compaction between turns (C1)", "compact", "false"],
  [
    "a message appended to a store that outlasts its time",
    "append",
    "AgentError: AgentError(session): could not append to session s",
  ],
])("a process lives until what it awaits has ended: %s", async (_, name, expected) => {
  expect(await ending(name)).toEqual({ code: 0, printed: expected });
});

test("a turn that is over leaves no timer that keeps a process", async () => {
  expect(await ending("finished")).toEqual({ code: 0, printed: "completed, 0 timers keep the process" });
});
