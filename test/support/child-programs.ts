import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { build } from "esbuild";

/** Programs of the tests, bundled where the packages of the repository are found; removed at the end of the block. */
export function childPrograms(): Disposable & { bundle(source: string): Promise<string> } {
  mkdirSync(".cache", { recursive: true });
  const directory = mkdtempSync(resolve(".cache/programs-"));
  return {
    async bundle(source) {
      const outfile = join(directory, `${basename(source, ".ts")}.mjs`);
      await build({
        entryPoints: [resolve(source)],
        outfile,
        bundle: true,
        packages: "external",
        platform: "node",
        format: "esm",
        target: "node22",
      });
      return outfile;
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** A running program; it is killed with the block that started it. */
export type Child = AsyncDisposable & {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>;
  /** What it has printed so far, by line. */
  readonly lines: readonly string[];
  /** Resolves when it has printed so many lines, or will print no more. */
  printed(count: number): Promise<void>;
  /** Resolves when it has printed such a line, or will print no more. */
  printedLine(line: RegExp): Promise<void>;
  /** Resolves when it has ended and everything it printed is in `lines`. */
  ended(): Promise<{ readonly code: number | null; readonly noise: string }>;
};

/** Starts a bundled program with one argument, as JSON; `wrap` is a command that starts what follows it. */
export function startChild(program: string, argument: unknown, wrap: readonly string[] = []): Child {
  const [command = "", ...args] = [...wrap, process.execPath, program, JSON.stringify(argument)];
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const lines: string[] = [];
  let waiting: { readonly is: () => boolean; readonly resolve: () => void }[] = [];
  let over = false;
  const tell = (): void => {
    const ready = waiting.filter(({ is }) => over || is());
    waiting = waiting.filter((one) => !ready.includes(one));
    for (const { resolve: resolveOne } of ready) resolveOne();
  };
  let noise = "";
  child.stderr.on("data", (chunk: Buffer) => (noise += chunk.toString()));
  child.stdin.on("error", () => {});
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    tell();
  });
  const read = once(reader, "close");
  const closed = once(child, "close").then(([code]) => code as number | null);
  void read.then(() => {
    over = true;
    tell();
  });
  const whenIt = (is: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ is, resolve });
      tell();
    });
  return {
    process: child,
    lines,
    printed: (count) => whenIt(() => lines.length >= count),
    printedLine: (line) => whenIt(() => lines.some((text) => line.test(text))),
    async ended() {
      await read;
      return { code: await closed, noise };
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
