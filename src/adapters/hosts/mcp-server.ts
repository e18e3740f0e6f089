import type { Readable, Writable } from "node:stream";
import {
  createMcpHandler,
  isLegacyRequest,
  localhostAllowedHostnames,
  originValidationResponse,
  type Server,
  validateHostHeader,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { AgentApi } from "../../ports/agent-api.js";
import { AgentServer } from "./mcp/agent-server.js";
import { HttpSessions } from "./mcp/http-sessions.js";
import { type McpServerOptions, type McpServerSettings, serverSettings } from "./mcp/mcp-server-options.js";
import { processStreams } from "./mcp/process-streams.js";
import { type Streams, StreamTransport } from "./mcp/stream-transport.js";
import { Unread } from "./mcp/unread.js";

export type { McpServerOptions } from "./mcp/mcp-server-options.js";

/** An agent as an MCP server, over any number of connections. */
export type AgentMcpServer = AsyncDisposable & {
  /** Answers one HTTP request (streamable HTTP, sessions included). Bound: it may be passed around alone. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Serves one client on these streams; resolves when it has gone and its calls have ended, which are aborted then. Nothing else may write to the
   * output. Without streams those of the process, where what is written to `process.stdout` meanwhile goes to stderr; rejects with
   * `CompositionError("invalid-config")` while a client is served on those already.
   */
  serveStdio(streams?: { readonly input: Readable; readonly output: Writable }): Promise<void>;
  /** Tells clients that the tools changed: an agent does not tell of changes between its turns. */
  toolsChanged(): void;
  /** Aborts the calls that run and ends every connection; the agent stays as it is. Idempotent. */
  close(): Promise<void>;
};

/**
 * Offers the tools and commands of an agent to MCP clients. A call of a tool is a turn of the agent, so that everything that guards the agent's
 * own calls guards it too; a call that would have to be approved later is refused. Commands are offered as prompts. Throws
 * `CompositionError("invalid-config")`.
 */
export function mcpServer(agent: AgentApi, options: McpServerOptions = {}): AgentMcpServer {
  const settings = serverSettings(options);
  const unread = new Unread();
  const shared = new AgentServer(agent, settings, unread);
  const sessions = new HttpSessions((onRequest) => shared.connection(onRequest), settings.maxSessions);
  const modern = createMcpHandler(() => shared.connection(), { legacy: "reject", onerror: settings.onError });
  const ending = Promise.withResolvers<void>();
  let closed: Promise<void> | undefined;
  const hosts = [...(settings.allowedHosts ?? localhostAllowedHostnames())];
  const close = async (): Promise<void> => {
    unsubscribe();
    ending.resolve();
    await shared.close();
    await Promise.all([sessions.close(), modern.close()]);
  };
  const toolsChanged = (): void => {
    sessions.toolsChanged(settings.onError);
    modern.notify.toolsChanged();
    for (const server of piped) {
      if (server.transport !== undefined) server.sendToolListChanged().catch(settings.onError);
    }
  };
  const piped = new Set<Server>();
  const unsubscribe = watchTools(agent, toolsChanged);
  const serve = async (streams: Streams): Promise<void> => {
    const transport = new StreamTransport(streams, settings.onError);
    const own = new Set<Server>();
    const connect = (): Server => {
      const server = shared.connection();
      piped.add(server);
      own.add(server);
      return server;
    };
    const handle = serveStdio(connect, { transport, onerror: settings.onError });
    await Promise.race([transport.gone, ending.promise]);
    await handle.close();
    await shared.ended(own);
    for (const server of own) piped.delete(server);
  };
  return {
    async fetch(request) {
      if (closed !== undefined) return over();
      const owner = refusedHost(request, hosts) ?? (await ownerOf(request, settings));
      if (owner instanceof Response) return owner;
      const sessionful = request.headers.has("mcp-session-id") || (await isLegacyRequest(request));
      // Looking for whoever asks, and reading what, takes time.
      if (closed !== undefined) return over();
      return unread.counting(request, await (sessionful ? sessions.answer(request, owner) : modern.fetch(request)));
    },
    async serveStdio(streams) {
      if (streams !== undefined) return serve(streams);
      using own = processStreams();
      await serve(own);
    },
    toolsChanged,
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
}

function over(): Response {
  return new Response("the server is closed", { status: 503 });
}

function refusedHost(request: Request, hosts: string[]): Response | undefined {
  const host = validateHostHeader(request.headers.get("host") ?? new URL(request.url).host, hosts);
  return host.ok ? originValidationResponse(request, hosts) : new Response("this host is not served", { status: 403 });
}

/** Whoever asks, or why nobody is answered. Nothing but a name lets a request in: null, false or an empty text has refused it too. */
async function ownerOf(request: Request, { authorize, onError }: McpServerSettings): Promise<string | Response> {
  if (authorize === undefined) return "";
  try {
    const name: unknown = await authorize(request);
    if (typeof name === "string" && name !== "") return name;
    return new Response("unauthorized", { status: 401, headers: { "www-authenticate": "Bearer" } });
  } catch (error) {
    onError(error);
    return new Response("nobody can be authorized now", { status: 503 });
  }
}

/** Each turn resolves its tools anew; a list that is another than the one before is news for clients. */
function watchTools(agent: AgentApi, changed: () => void): () => void {
  let before: string | undefined;
  return agent.subscribe((event) => {
    if (event.type !== "toolsResolved") return;
    const now = JSON.stringify(event.tools);
    if (before !== undefined && before !== now) changed();
    before = now;
  });
}
