import { type ChildProcess, fork } from "node:child_process";
import { type CheckMessage, type CheckOrder, ownMessage } from "./check-message.js";

/** The command under which the program starts itself again, the order behind it as JSON. */
export const CHILD_COMMAND = "check-child";

/** How the process that checks a module came to its end: by itself, or because it was silent for so long. */
export type ChildEnd =
  | { readonly type: "ended"; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly type: "silent"; readonly ms: number };

/** Who hears of it: its messages in order, and everything the module prints. */
export type ChildListener = {
  readonly message: (message: CheckMessage) => void;
  readonly printed: (text: string) => void;
};

/** A claim, its fixture's disposal, and the way here. */
const silence = ({ timeoutMs }: CheckOrder): number => Math.min(2 * timeoutMs + 10_000, 2 ** 31 - 1);

/** Starts `program` again to check a module, and resolves when that process has ended; one that stays silent is killed. */
export async function runChild(program: string, order: CheckOrder, listener: ChildListener): Promise<ChildEnd> {
  const child = fork(program, [CHILD_COMMAND, JSON.stringify(order)], { stdio: ["ignore", "pipe", "pipe", "ipc"] });
  const ms = silence(order);
  let silent = false;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      silent = true;
      child.kill("SIGKILL");
    }, ms);
  };
  const leave = (): void => void child.kill("SIGKILL");
  process.once("exit", leave);
  wait();
  child.on("message", (received) => {
    const message = ownMessage(order.token, received);
    if (message === undefined) return;
    wait();
    listener.message(message);
  });
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", listener.printed);
  try {
    const { code, signal } = await ended(child);
    return silent ? { type: "silent", ms } : { type: "ended", code, signal };
  } finally {
    clearTimeout(timer);
    process.off("exit", leave);
  }
}

/** When everything it said and printed has come in. A process of its own that outlives it may hold its output open, and is not waited for. */
function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("exit", (code, signal) => {
      // What came in while this process stood still is read first.
      setTimeout(() => setImmediate(() => resolve({ code, signal })), 500);
    });
  });
}

/** In that process: checks what it was told to, and ends. */
export async function runAsChild(json: string): Promise<void> {
  const order = JSON.parse(json) as CheckOrder;
  // Whoever started us is gone: nobody would read the report.
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref();
  const { checkModule } = await import("./check-program.js");
  let last: Promise<void> = Promise.resolve();
  await checkModule(order, (message) => {
    last = new Promise((sent) => {
      process.send?.({ token: order.token, message }, undefined, undefined, () => sent());
    });
  });
  await last;
  // Whatever the module left open must not keep a terminal waiting.
  process.exit(0);
}
