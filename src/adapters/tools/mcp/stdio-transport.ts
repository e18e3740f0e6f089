import { type ChildProcess, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { isJsonObject } from "../../../domain/json.js";
import { jsonOfLine } from "./json-line.js";
import { LineSplitter, type LongLine } from "./line-splitter.js";
import { idOfAnswer } from "./long-line-id.js";
import { ProcessGroup } from "./process-group.js";
import { messageOf } from "./sound-answer.js";
import { unheard } from "./unheard.js";

/** How a server's process is started. */
export type StdioCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly maxMessageBytes: number;
  /** How long the process may take to end by itself, and again after SIGTERM. */
  readonly closeGraceMs: number;
};

const STDERR_KEPT = 8_192;
/** A grandchild may hold the pipes open after the server has ended. */
const DRAIN_MS = 200;

/**
 * A server as a child process that speaks JSON lines. The SDK's own transport leaves behind what the server started, takes seconds to
 * close, and gives up the connection for one long line; this one does not. Lines that are no message are passed over.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #command: StdioCommand;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #closing: Promise<void> | undefined;
  readonly #ended = Promise.withResolvers<void>();
  readonly #waiting: JSONRPCMessage[] = [];
  #over = false;
  #stderr = "";

  constructor(command: StdioCommand) {
    this.#command = command;
  }

  /** The end of what the server wrote to stderr. */
  get stderr(): string {
    return this.#stderr;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#command;
    const child = spawn(command, [...args], {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
      ...(cwd === undefined ? undefined : { cwd }),
    });
    this.#child = child;
    this.#group = new ProcessGroup(child);
    const spawned = Promise.withResolvers<void>();
    child.once("spawn", spawned.resolve);
    child.on("error", (error) => {
      spawned.reject(error);
      if (child.pid === undefined) this.#finish();
    });
    this.#read(child);
    child.once("exit", () => setTimeout(() => this.#finish(), DRAIN_MS).unref());
    child.once("close", () => this.#finish());
    await spawned.promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (this.#over || this.#closing !== undefined || stdin === null || stdin === undefined)
      throw new Error("the process has ended");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const room = stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    // Nothing more is read from a server that reads nothing: each question of it has an answer. With room left nothing tells when it does.
    if (!room && stdin.writableLength > this.#command.maxMessageBytes) this.#child?.stdout?.pause();
    await promise;
  }

  /** Ends the input, then SIGTERM, then SIGKILL, each after the grace; whatever the server started goes with it. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#over) return;
    child.stdin?.end();
    if (!(await this.#endsWithin())) {
      this.#group?.signal("SIGTERM");
      if (!(await this.#endsWithin())) this.#group?.signal("SIGKILL");
    }
    await this.#ended.promise;
  }

  async #endsWithin(): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), this.#command.closeGraceMs);
    });
    const ended = this.#ended.promise.then(() => true);
    const result = await Promise.race([ended, late]);
    clearTimeout(timer);
    return result;
  }

  #read(child: ChildProcess): void {
    const { maxMessageBytes } = this.#command;
    const lines = new LineSplitter(maxMessageBytes, {
      onLine: (line) => this.#onLine(line),
      onLongLine: (line) => this.#onLongLine(line),
    });
    child.stdout?.on("data", (chunk: Buffer) => lines.push(chunk));
    child.stdin?.on("drain", () => child.stdout?.resume());
    // It can be heard, or asked, no longer, also where the process goes on.
    child.stdout?.once("end", () => void this.close());
    child.stdin?.once("error", () => void this.close());
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.subarray(-STDERR_KEPT).toString("utf8")).slice(-STDERR_KEPT);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream?.on("error", (error: Error) => this.onerror?.(error));
    }
  }

  #onLine(line: string): void {
    if (line.trim() === "") return;
    const value = jsonOfLine(line);
    // Some servers of 2025 write several messages as one.
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value]) this.#onMessage(one);
  }

  #onMessage(value: unknown): void {
    const message = isJsonObject(value) ? messageOf(value) : undefined;
    if (message !== undefined) return this.#take(message);
    if (isJsonObject(value) && typeof value["id"] === "number" && value["method"] === undefined)
      return this.#answerWith(value["id"], "the answer is no message of the protocol");
    this.onerror?.(new Error("a line on stdout is no message"));
  }

  /** Whoever waits for the answer need not wait any longer. */
  #answerWith(id: number, message: string): void {
    this.#take(unheard(id, message));
  }

  /** The SDK looks at a notification a moment later: progress would be lost to the answer in the next line. */
  #take(message: JSONRPCMessage): void {
    this.#waiting.push(message);
    if (this.#waiting.length === 1) void this.#deliverAll();
  }

  /** In order, and all of it before anything else happens. */
  async #deliverAll(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      this.#deliver(next);
      await Promise.resolve();
      this.#waiting.shift();
    }
  }

  /** The SDK quotes an answer that nobody waits for, and cannot where it is nested too deep. */
  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(new Error("a message cannot be handled", { cause: error }));
    }
  }

  /** The call that waits for such an answer is told, where it can be found. */
  #onLongLine(line: LongLine): void {
    const id = idOfAnswer(line);
    const message = `the answer has ${line.bytes} bytes; ${this.#command.maxMessageBytes} are allowed`;
    if (typeof id !== "number") this.onerror?.(new Error(message));
    else this.#answerWith(id, message);
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#group?.dispose();
    const { stdin, stdout, stderr } = this.#child ?? {};
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    this.#ended.resolve();
    this.onclose?.();
  }
}
