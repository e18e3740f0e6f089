import { AsyncLocalStorage } from "node:async_hooks";
import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import { isJsonObject } from "../../../domain/json.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import { boundedFetch, isEventStream } from "./bounded-fetch.js";
import type { McpRuntime } from "./mcp-runtime.js";
import { unheard } from "./unheard.js";

/** How a server is reached. */
export type HttpAddress = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly authToken: (() => Awaitable<string>) | undefined;
  readonly fetch: typeof fetch;
  readonly maxMessageBytes: number;
  readonly closeGraceMs: number;
  readonly runtime: McpRuntime;
};

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** What a server may still say behind an answer before its stream is ended. */
const LINGER_MS = 1_000;
const RESUME_MS = 500;
const LONGEST_RESUME_MS = 60_000;

/** A request without an answer yet. `body` when its answer came whole, `streams` when it is awaited in a stream. */
type Open = { readonly controller: AbortController; body: boolean; streams: boolean; stopLinger: () => void };

/** Which request the SDK fetches for. */
const asking = new AsyncLocalStorage<Open>();

/**
 * The SDK's streamable HTTP, where a request ends with its stream: one whose stream breaks off without an answer, and cannot be resumed,
 * fails at once, and one that was answered or cancelled no longer holds a socket.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<string | number, Open>();
  readonly #address: HttpAddress;

  constructor(address: HttpAddress) {
    super(address.url, optionsOf(address));
    this.#address = address;
    this.onmessage = (message) => {
      if ("id" in message && !("method" in message) && message.id !== undefined) this.#answered(message.id);
    };
  }

  override async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if ("method" in message && "id" in message) return this.#request(message, message.id, options);
    await super.send(message, options);
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const id: unknown = isJsonObject(message.params) ? message.params["requestId"] : undefined;
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#end(id);
  }

  /** Says goodbye to the server, for as long as the grace lasts. */
  override async close(): Promise<void> {
    if (this.sessionId !== undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = this.#address.runtime.after(this.#address.closeGraceMs, resolve);
      await Promise.race([this.terminateSession().catch(() => undefined), promise]);
      cancel();
    }
    this.#open.clear();
    await super.close();
  }

  #end(id: string | number): void {
    this.#open.get(id)?.controller.abort();
    this.#open.delete(id);
  }

  /** Some servers keep the stream of an answer open. */
  #answered(id: string | number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    if (open.streams) open.stopLinger = this.#address.runtime.after(LINGER_MS, () => open.controller.abort());
  }

  async #request(message: JSONRPCMessage, id: string | number, options?: SendOptions): Promise<void> {
    const controller = new AbortController();
    const open: Open = { controller, body: false, streams: false, stopLinger: () => undefined };
    this.#open.set(id, open);
    // In the protocol of 2026 the SDK cancels by ending the request.
    options?.requestSignal?.addEventListener("abort", () => this.#end(id), { once: true });
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      open.stopLinger();
      if (!this.#open.delete(id)) return;
      this.onmessage?.(unheard(id, "the server ended the stream without an answer"));
    };
    try {
      const sent = { ...options, requestSignal: controller.signal, onRequestStreamEnd };
      await asking.run(open, () => super.send(message, sent));
      open.streams = true;
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
    if (open.body && this.#open.delete(id))
      this.onmessage?.(unheard(id, "the server answered without an answer to the request"));
  }
}

function optionsOf({
  headers,
  authToken,
  fetch,
  maxMessageBytes,
  runtime,
}: HttpAddress): StreamableHTTPClientTransportOptions {
  return {
    requestInit: { headers: { ...headers } },
    fetch: noting(boundedFetch(fetch, maxMessageBytes)),
    reconnectionOptions: {
      initialReconnectionDelay: RESUME_MS,
      reconnectionDelayGrowFactor: 2,
      maxReconnectionDelay: 30_000,
      maxRetries: 5,
    },
    // Servers may ask for another delay; none must make us ask for ever without one, or keep what waits for days.
    reconnectionScheduler: (reconnect, delay) =>
      runtime.after(Math.min(Math.max(delay, RESUME_MS), LONGEST_RESUME_MS), reconnect),
    ...(authToken && {
      authProvider: {
        token: async () => authToken(),
        // The token is asked for again, and the request is made once more.
        onUnauthorized: () => Promise.resolve(),
      },
    }),
  };
}

/** The same fetch, which notes of a request that its answer came whole. What is accepted only (202) may be answered elsewhere. */
function noting(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const open = asking.getStore();
    if (open !== undefined) open.body = response.status !== 202 && !isEventStream(response);
    return response;
  };
}
