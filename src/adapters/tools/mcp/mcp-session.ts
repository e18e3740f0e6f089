import {
  type Client,
  ProtocolError,
  ProtocolErrorCode,
  type RequestOptions,
  type Transport,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../domain/json.js";
import { AS_IT_IS, putAside, soundHandshake, soundProgress } from "./as-it-is.js";
import { askUser, type ElicitationReply } from "./elicitation.js";
import { type ClientListener, newClient } from "./mcp-client.js";
import { LONGEST_MS } from "./mcp-runtime.js";
import type { McpServerLimits, McpSettings } from "./mcp-options.js";
import { orAborted } from "./or-aborted.js";
import type { OpenQuestion } from "./questions.js";
import { readPages } from "./read-pages.js";
import { type ListedResources, resourceTools } from "./resource-tools.js";
import { askInRounds } from "./rounds.js";
import { readToolPages, type ToolPages } from "./tool-pages.js";

/** Whom a session tells. */
export type SessionListener = ClientListener & {
  readonly onClosed: () => void;
  /** A person is asked, until `end`; nobody is where it gives none. */
  readonly onAsking: () => OpenQuestion | undefined;
};

/** How one call is made. */
export type SessionCall = {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: JsonObject) => void;
  /** The server has said something. */
  readonly onSign: () => void;
  /** What a request says in headers too, where the protocol wants it. */
  readonly headers?: (() => Record<string, string>) | undefined;
};

/** How long a server rests that wants to be asked again. */
const PAUSE_MS = 250;

/** One connection from its handshake to its end. Timeouts are the callers': each request has a signal. */
export class McpSession {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #settings: McpSettings;
  readonly #server: string;
  readonly #listener: SessionListener;
  readonly #gone = new AbortController();
  readonly #asked = new Set<Promise<unknown>>();

  constructor(
    { server, protocol = "initialize" }: { readonly server: string } & Pick<McpServerLimits, "protocol">,
    transport: Transport,
    settings: McpSettings,
    listener: SessionListener,
  ) {
    this.#transport = transport;
    this.#settings = settings;
    this.#server = server;
    this.#listener = listener;
    this.#client = newClient({
      protocol,
      settings,
      listener,
      elicit: (params, signal) => this.#elicit(params, signal),
    });
    this.#client.onclose = () => {
      this.#gone.abort();
      listener.onClosed();
    };
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      onmessage?.(message, extra);
      soundProgress(message);
      const era = this.#client.getProtocolEra();
      if (era === undefined) soundHandshake(message);
      if (era === "modern") putAside(message);
    };
  }

  /** Starts the transport and shakes hands. When it rejects, the transport is closed. */
  async open(signal: AbortSignal): Promise<void> {
    try {
      // The question which protocol it speaks knows no signal.
      await orAborted(this.#client.connect(this.#transport, { signal, timeout: LONGEST_MS }), signal);
    } catch (error) {
      await this.#transport.close();
      throw error;
    }
  }

  /** All tools, within the bounds of a listing; none of a server that says it has none. With resources, tools for those are among them. */
  async list(signal: AbortSignal): Promise<ToolPages> {
    const { tools, resources } = this.#client.getServerCapabilities() ?? {};
    const listed: ToolPages =
      tools === undefined
        ? { tools: [], refused: [] }
        : await readToolPages((cursor) => this.#page("tools/list", cursor, signal), this.#settings);
    if (!this.#settings.resources || resources === undefined) return listed;
    return { ...listed, tools: [...listed.tools, ...resourceTools(listed.tools)] };
  }

  /** All resources and templates, within the bounds of a listing; a server need not know of templates. */
  async listResources({ signal }: SessionCall): Promise<ListedResources> {
    const { maxPages, maxTools } = this.#settings;
    const all = async (method: string, key: string): Promise<readonly unknown[]> => {
      const found: unknown[] = [];
      const take = (one: unknown): boolean => found.push(one) < maxTools;
      await readPages((cursor) => this.#page(method, cursor, signal), { key, maxPages }, take);
      return found.slice(0, maxTools);
    };
    const resources = await all("resources/list", "resources");
    const templates = await all("resources/templates/list", "resourceTemplates").catch((error: unknown) => {
      if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound) return [];
      throw error;
    });
    return { resources, templates };
  }

  /** The answer to one request, not decoded, behind what the server wants to know first. An abort of the signal tells the server, and rejects at once. */
  async request(method: string, params: JsonObject, call: SessionCall): Promise<unknown> {
    const { signal, onProgress, onSign } = call;
    const headers = this.#client.getProtocolEra() === "modern" ? (call.headers?.() ?? {}) : {};
    const onprogress: RequestOptions["onprogress"] = (progress) => onProgress(progress as JsonObject);
    return askInRounds(params, {
      ask: (asked) => this.#ask(method, asked, { signal, onprogress, headers }).finally(onSign),
      elicit: (question) => this.#elicit(question, AbortSignal.any([signal, this.#gone.signal])),
      pause: () => this.#pause(signal),
    });
  }

  /** Resolves when nothing is left of the connection and its process. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** Closes as soon as nothing waits for an answer, or the signal fires: each request may still be told for itself what became of it. */
  async retire(signal: AbortSignal): Promise<void> {
    await orAborted(Promise.allSettled(this.#asked), signal).catch(() => undefined);
    await this.close();
  }

  /** Asks the user, for as long as somebody waits. Never rejects. */
  async #elicit(params: JsonObject, signal: AbortSignal): Promise<ElicitationReply> {
    const question = this.#listener.onAsking();
    if (question === undefined) return { action: "cancel" };
    try {
      const waits = AbortSignal.any([signal, question.signal]);
      return await askUser(params, { server: this.#server, signal: waits }, this.#settings.onElicitation);
    } finally {
      question.end();
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#settings.runtime.after(PAUSE_MS, resolve);
    await orAborted(promise, signal).finally(stop);
  }

  #page(method: string, cursor: string | undefined, signal: AbortSignal): Promise<unknown> {
    return this.#ask(method, cursor === undefined ? undefined : { cursor }, { signal });
  }

  async #ask(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<unknown> {
    const request = { method, ...(params && { params }) };
    const answer = this.#client.request(request, AS_IT_IS, { ...options, timeout: LONGEST_MS });
    this.#asked.add(answer);
    try {
      return await answer;
    } finally {
      this.#asked.delete(answer);
    }
  }
}
