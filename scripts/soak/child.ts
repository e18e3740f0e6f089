import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** This program once more as a process of its own, with what it has printed by line. */
export type Child = {
  readonly process: ChildProcess;
  readonly lines: readonly string[];
  /** Resolves when it has printed so many lines, or has ended. */
  printed(count: number): Promise<void>;
  /** Resolves to what it wrote to its standard error, once it has ended and all it printed is in `lines`. */
  readonly ended: Promise<string>;
};

export function startChild(task: object): Child {
  const program = process.argv[1] ?? "";
  const child = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  let noise = "";
  let tell = (): void => {};
  let isOver = false;
  child.stderr.on("data", (chunk: Buffer) => (noise += chunk.toString()));
  const reader = createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    tell();
  });
  const read = new Promise<void>((resolve) => void reader.once("close", resolve));
  const closed = new Promise<void>((resolve) => void child.once("close", () => resolve()));
  const ended = Promise.all([read, closed]).then(() => {
    isOver = true;
    tell();
    return noise;
  });
  const printed = (count: number): Promise<void> =>
    new Promise((resolve) => {
      tell = () => {
        if (isOver || lines.length >= count) resolve();
      };
      tell();
    });
  return { process: child, lines, printed, ended };
}
