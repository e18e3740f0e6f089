import { Client, ProtocolError, type RequestOptions, type Transport } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../domain/json.js";
import { askUser } from "./elicitation.js";
import { LONGEST_MS } from "./mcp-runtime.js";
import type { McpServerLimits, McpSettings } from "./mcp-options.js";
import { orAborted } from "./or-aborted.js";
import type { OpenQuestion } from "./questions.js";
import { readPages } from "./read-pages.js";
import { type ListedResources, resourceTools } from "./resource-tools.js";
import { readToolPages, type ToolPages } from "./tool-pages.js";

/** Whom a session tells. */
export type SessionListener = {
  readonly onClosed: () => void;
  readonly onToolsChanged: () => void;
  readonly onResourcesChanged: () => void;
  readonly onNoise: (error: Error) => void;
  /** A person is asked, until `end`; nobody is where it gives none. */
  readonly onAsking: () => OpenQuestion | undefined;
};

/** How one call is made. */
export type SessionCall = {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: JsonObject) => void;
};

/** A server of 2025 may say nothing at all to a question it does not know. */
const PROBE_MS = 3_000;

const METHOD_NOT_FOUND = -32601;

/** Answers are decoded by us: one block of a kind that the SDK does not know must not cost the others. */
const AS_IT_IS = {
  "~standard": { version: 1, vendor: "ennead", validate: (value: unknown) => ({ value }) },
} as const;

/** One connection from its handshake to its end. Timeouts are the callers': each request has a signal. */
export class McpSession {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #settings: McpSettings;
  readonly #asked = new Set<Promise<unknown>>();

  constructor(
    { server, protocol = "initialize" }: { readonly server: string } & Pick<McpServerLimits, "protocol">,
    transport: Transport,
    settings: McpSettings,
    listener: SessionListener,
  ) {
    this.#transport = transport;
    this.#settings = settings;
    const asks = settings.onElicitation !== undefined;
    this.#client = new Client(settings.clientInfo, {
      versionNegotiation: protocol === "auto" ? { mode: "auto", probe: { timeoutMs: PROBE_MS } } : { mode: "legacy" },
      // In the protocol of 2026 changes are told only to those who ask for it.
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: listener.onToolsChanged },
        ...(settings.resources && {
          resources: { autoRefresh: false, debounceMs: 0, onChanged: listener.onResourcesChanged },
        }),
      },
      capabilities: asks ? { elicitation: { form: {}, url: {} } } : {},
      // Nothing of a server's is compiled: what there is to check is checked by us.
      jsonSchemaValidator: {
        getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
      },
    });
    this.#client.onclose = listener.onClosed;
    this.#client.onerror = listener.onNoise;
    this.#client.setNotificationHandler("notifications/tools/list_changed", listener.onToolsChanged);
    if (settings.resources)
      this.#client.setNotificationHandler("notifications/resources/list_changed", listener.onResourcesChanged);
    const answer = async (params: JsonObject, signal: AbortSignal): ReturnType<typeof askUser> => {
      const question = listener.onAsking();
      if (question === undefined) return { action: "cancel" };
      try {
        const waits = AbortSignal.any([signal, question.signal]);
        return await askUser(params, { server, signal: waits }, settings.onElicitation);
      } finally {
        question.end();
      }
    };
    if (asks) {
      this.#client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) =>
        answer(params as JsonObject, mcpReq.signal),
      );
    }
    this.#client.fallbackRequestHandler = (request) => {
      if (request.method === "elicitation/create") return Promise.resolve({ action: "decline" });
      return Promise.reject(Object.assign(new Error("Method not found"), { code: METHOD_NOT_FOUND }));
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
      if (error instanceof ProtocolError && error.code === METHOD_NOT_FOUND) return [];
      throw error;
    });
    return { resources, templates };
  }

  /** The answer to one request, not decoded. An abort of the signal tells the server, and rejects at once. */
  async request(method: string, params: JsonObject, { signal, onProgress }: SessionCall): Promise<unknown> {
    return this.#ask(method, params, { signal, onprogress: (progress) => onProgress(progress as JsonObject) });
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
