import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * A conversation through the built command line: offline model, real tools on the files of this repository, SQLite. A second process goes
 * on with it, a third reads it back. Exits with an error when anything that was said or done is missing from what was stored.
 */
const self = fileURLToPath(import.meta.url);
const root = resolve(self, "../..");
const session = "demo";

const first = [
  "List the files in src and read package.json",
  'What is (2 + 3) * 4 and search "interface ModelPort" in src/ports?',
  "Read ../outside.txt",
  "/src/main.ts is broken",
  "/nope at all",
  "/quit",
];
const second = ["/sessions", "/resume 1", "What did I ask first?", "/quit"];
const messages = [...first, ...second].filter((line) => !/^\/[a-z]+( |$)/.test(line));

/** Runs a Node process and resolves with what it wrote to its standard output. */
function run(args, { lines = [], show = false } = {}) {
  // No key from outside: the demo must not cost anything.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(OPENAI|ENNEAD)_/.test(name)));
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
    if (show) process.stdout.write(text);
  });
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      if (code === 0) done(output);
      else fail(new Error(`node ${args.join(" ")} ended with ${signal ?? code}\n${show ? "" : output}`));
    });
  });
}

async function printStored(db) {
  const { SqliteSessionStore } = await import("ennead/sessions/sqlite");
  const store = new SqliteSessionStore({ path: db });
  const stored = await store.load(session);
  await store.close();
  console.log(JSON.stringify({ pid: process.pid, ...stored }));
}

const textOf = (message) =>
  (message.content ?? message.parts)
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");

const callsOf = (message) =>
  message.role === "assistant" ? message.parts.filter((part) => part.type === "toolCall") : [];

function lineOf(message) {
  const calls = callsOf(message).map((call) => `${call.name} ${JSON.stringify(call.arguments)}`);
  const text = [textOf(message), ...calls].join(" ").replace(/\s+/g, " ");
  const who = message.role === "tool" ? `tool ${message.toolName}${message.isError ? " (error)" : ""}` : message.role;
  return `${who}: ${text.length > 100 ? `${text.slice(0, 99)}…` : text}`;
}

/** Throws unless the stored session holds the whole conversation. */
function check(stored, talk) {
  const { messages: kept } = stored;
  const calls = kept.flatMap(callsOf);
  const results = kept.filter((message) => message.role === "tool");
  assert.deepEqual(kept.filter(({ role }) => role === "user").map(textOf), messages, "user messages");
  const answered = results.map((result) => result.toolCallId);
  assert.deepEqual([...answered].sort(), calls.map((call) => call.id).sort(), "one result for each call");
  const resultOf = (name) =>
    results
      .filter((result) => result.toolName === name)
      .map(textOf)
      .join("\n");
  assert.match(resultOf("list_files"), /^domain\/$/m, "list_files saw src");
  assert.match(resultOf("read_file"), /"name": "ennead"/, "read_file read package.json");
  assert.equal(resultOf("calculate"), "20", "the sum");
  assert.match(resultOf("search_text"), /^src\/ports\/model\.ts:\d+: /m, "search_text found the port");
  assert.deepEqual(
    results.filter((result) => result.isError).map((result) => result.toolName),
    ["read_file"],
    "only the file outside the root was refused",
  );
  assert.match(textOf(kept.at(-1)), /You said: List the files in src/, "the second process knew the first message");
  assert.match(talk, /nope/, "the unknown command was named");
  for (const call of calls) assert.ok(talk.includes(`→ ${call.name}`), `the view showed ${call.name}`);
  return { calls, results, kept };
}

async function demo(place) {
  const db = join(place, "sessions.db");
  const chat = ["dist/cli.js", "chat", "--offline", "--db", db];
  let talk = await run([...chat, "--session", session], { lines: first, show: true });
  console.log("\n--- a second process goes on with the stored session ---\n");
  talk += await run(chat, { lines: second, show: true });
  console.log("\n--- what a third process reads from the SQLite file ---\n");
  const stored = JSON.parse(await run([self, "--read", db]));
  for (const message of stored.messages) console.log(lineOf(message));
  const { calls, results, kept } = check(stored, talk);
  assert.notEqual(stored.pid, process.pid);
  const failed = results.filter((result) => result.isError).length;
  console.log(
    `\ndemo: session "${session}" at revision ${stored.revision} holds ${kept.length} messages, ` +
      `${calls.length} tool calls, ${results.length} results (${failed} refused); nothing is missing`,
  );
}

if (process.argv[2] === "--read") {
  await printStored(process.argv[3]);
} else {
  const place = mkdtempSync(join(tmpdir(), "ennead-demo-"));
  try {
    await demo(place);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
