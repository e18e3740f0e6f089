import { readFileSync, statSync } from "node:fs";
import { constants, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EnneadError } from "../../domain/errors.js";
import { terminalText } from "../observers/terminal-text.js";
import { type ChatSettings, chatSettings } from "./chat-settings.js";
import { CHILD_COMMAND, runAsChild } from "./check-child.js";
import { type CheckFlags, HELP, parseCli } from "./cli-flags.js";

/** Exit codes: 0 fine, 1 failed, 2 wrong flags or a module that cannot be checked, 130 interrupted (128 and its number for any signal). */
export async function runProcess(): Promise<void> {
  const [, program = "", ...args] = process.argv;
  if (args[0] === CHILD_COMMAND && process.send !== undefined) return runAsChild(args[1] ?? "");
  process.exitCode = await run(args, program);
  // However slowly somebody reads: the exit would lose what is still to be read.
  await Promise.all([process.stdout, process.stderr].map(taken));
  // A tool or model that ignored its abort must not keep a terminal waiting.
  setTimeout(() => process.exit(), 1_000).unref();
}

/** Resolves when everything that was written to it is taken, or nobody takes any more. */
function taken(output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => void output.write("", () => resolve()));
}

async function run(args: readonly string[], program: string): Promise<number> {
  const request = parseCli(args);
  if (!request.ok) return misused(request.reason);
  if (request.value.type === "help") return said(HELP);
  if (request.value.type === "version") return said(`${packageVersion()}\n`);
  if (request.value.type === "check") return startCheck(request.value, program);
  const settings = chatSettings(request.value, { env: process.env, cwd: process.cwd(), home: homedir() });
  if (!settings.ok) return misused(settings.reason);
  if (!isFolder(settings.value.root)) return misused(`--root: there is no folder ${settings.value.root}`);
  return startChat(settings.value);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function said(text: string): number {
  process.stdout.write(text);
  return 0;
}

function misused(reason: string): number {
  process.stderr.write(`ennead: ${terminalText(reason)}\nTry: ennead --help\n`);
  return 2;
}

async function startCheck(flags: CheckFlags, program: string): Promise<number> {
  const { check } = await import("./check.js");
  // A report that nobody reads to its end is no success.
  process.stdout.on("error", () => process.exit(2));
  // The exit takes the process of the module along, which hears of nothing while it is blocked.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  return check(flags, program, {
    report: (text) => void process.stdout.write(text),
    errors: (text) => void process.stderr.write(text),
  });
}

async function startChat(settings: ChatSettings): Promise<number> {
  // Everything the chat creates, the database's side files included, is for its owner only.
  process.umask(0o077);
  process.stdout.on("error", endOfReader);
  const { chat } = await import("./chat.js");
  try {
    const { reason } = await chat(settings, {
      input: process.stdin,
      output: process.stdout,
      colour: process.stdout.isTTY && !process.env["NO_COLOR"],
      interrupts: (listener) => {
        process.on("SIGINT", listener);
        return () => void process.off("SIGINT", listener);
      },
      cwd: process.cwd(),
    });
    return reason === "interrupted" ? 130 : 0;
  } catch (error) {
    const what = EnneadError.is(error) || error instanceof Error ? error.message : String(error);
    process.stderr.write(`ennead: ${terminalText(what)}\n`);
    return 1;
  }
}

/** Whoever read our output has left, as `head` does; there is nobody to talk to. */
function endOfReader(error: Error): void {
  if ("code" in error && error.code === "EPIPE") process.exit(0);
  throw error;
}

function packageVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const manifest = readManifest(join(folder, "package.json"));
    if (manifest !== undefined) return manifest;
    if (folder === dirname(folder)) return "unknown";
  }
}

function readManifest(path: string): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof manifest !== "object" || manifest === null || !("name" in manifest && "version" in manifest))
      return undefined;
    return manifest.name === "ennead" && typeof manifest.version === "string" ? manifest.version : undefined;
  } catch {
    return undefined;
  }
}
