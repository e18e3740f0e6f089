import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type Transport,
} from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../domain/json.js";
import { jsonOfLine } from "../../tools/mcp/json-line.js";
import { LineSplitter } from "../../tools/mcp/line-splitter.js";
import { idOfRequest } from "../../tools/mcp/long-line-id.js";
import { soundRequest } from "./sound-request.js";

/** Where the lines of a client come from, and where the answers go. */
export type Streams = { readonly input: Readable; readonly output: Writable };

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** What a client may leave unread before no more is read from it. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * A client on two streams, as JSON lines. The SDK's own transport gives up the connection for one line that is too long, leaves requests that
 * are none without an answer, and goes on reading from a client that reads nothing; this one does not.
 */
export class StreamTransport implements Transport {
  onclose?: (() => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #tell: (error: Error) => void;
  readonly #lines: LineSplitter;
  readonly #gone = Promise.withResolvers<void>();
  #closed = false;

  /** `onError` hears of what this transport meets; its `onerror` is the SDK's, which tells each twice. */
  constructor({ input, output }: Streams, onError: (error: Error) => void) {
    this.#input = input;
    this.#output = output;
    this.#tell = onError;
    this.#lines = new LineSplitter(MAX_MESSAGE_BYTES, {
      onLine: (line) => this.#onLine(line),
      onLongLine: (line) =>
        this.#refuse(idOfRequest(line), `the message has ${line.bytes} bytes; ${MAX_MESSAGE_BYTES} are allowed`),
    });
  }

  /** Resolves when the client can no longer ask, or no longer hear. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  start(): Promise<void> {
    const [input, output] = [this.#input, this.#output];
    input.on("data", this.#onData).on("end", this.#gone.resolve).on("close", this.#gone.resolve);
    output.on("drain", this.#onDrain).on("close", this.#gone.resolve);
    for (const stream of [input, output]) stream.on("error", this.#onError);
    // Whoever had it before has paused it.
    input.resume();
    if (input.readableEnded || input.destroyed || output.destroyed) this.#gone.resolve();
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return Promise.reject(new Error("the connection has ended"));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const room = this.#output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    // With room left nothing would tell when to go on.
    if (!room && this.#output.writableLength > MAX_UNREAD_BYTES) this.#input.pause();
    return promise;
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    const [input, output] = [this.#input, this.#output];
    input.off("data", this.#onData).off("end", this.#gone.resolve).off("close", this.#gone.resolve);
    input.off("error", this.#onError);
    // What is still to be written may fail later: its listener stays.
    output.off("drain", this.#onDrain).off("close", this.#gone.resolve);
    // A paused stream keeps no process alive.
    if (input.listenerCount("data") === 0) input.pause();
    this.#gone.resolve();
    this.onclose?.();
    return Promise.resolve();
  }

  readonly #onData = (chunk: Buffer | string): void =>
    this.#lines.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);

  readonly #onDrain = (): void => void this.#input.resume();

  readonly #onError = (error: Error): void => {
    if (!this.#closed) this.#tell(error);
    this.#gone.resolve();
  };

  #onLine(line: string): void {
    if (line.trim() === "") return;
    const value = jsonOfLine(line);
    // Clients of 2025 may write several messages as one.
    for (const one of Array.isArray(value) && value.length > 0 ? (value as readonly unknown[]) : [value])
      this.#onMessage(one);
  }

  #onMessage(value: unknown): void {
    if (this.#closed) return;
    const message = messageOf(value);
    if (message !== undefined) return this.onmessage?.(message);
    const asks = isJsonObject(value) && value["result"] === undefined && value["error"] === undefined;
    this.#refuse(asks ? value["id"] : undefined, "a line is no message of the protocol");
  }

  /** Whoever waits for an answer need not wait any longer. */
  #refuse(id: unknown, message: string): void {
    this.#tell(new Error(message));
    if (typeof id !== "string" && typeof id !== "number") return;
    const error = { code: ProtocolErrorCode.InvalidRequest, message };
    this.send({ jsonrpc: "2.0", id, error }).catch(this.#onError);
  }
}

function messageOf(value: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(isJsonObject(value) ? soundRequest(value) : value);
  } catch {
    return undefined;
  }
}
