import { randomUUID } from "node:crypto";
import {
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

type Session = {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly owner: string;
};

/** The sessions of clients over HTTP, each of whoever began it. Beyond `maxSessions` the one unused for longest is ended. */
export class HttpSessions {
  readonly #sessions = new Map<string, Session>();
  readonly #connect: (onRequest: (request: ServerContext) => void) => Server;
  readonly #maxSessions: number;

  constructor(connect: (onRequest: (request: ServerContext) => void) => Server, maxSessions: number) {
    this.#connect = connect;
    this.#maxSessions = maxSessions;
  }

  /** Answers a request of a session, or one that begins one. */
  async answer(request: Request, owner: string): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, owner);
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== owner) return notFound();
    // Behind all others: it is the one used last.
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session.transport.handleRequest(request);
  }

  /** Tells every client that the tools changed. */
  toolsChanged(onError: (error: unknown) => void): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(onError);
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ server }) => server.close()));
  }

  async #begin(request: Request, owner: string): Promise<Response> {
    const server = this.#connect(cancelledStreams((id) => transport.closeSSEStream(id)));
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => this.#keep(id, { server, transport, owner }),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    // It was no beginning of a session.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  async #keep(id: string, session: Session): Promise<void> {
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions;
    if (this.#sessions.size <= this.#maxSessions || oldest === undefined) return;
    this.#sessions.delete(oldest[0]);
    await oldest[1].server.close();
  }
}

/**
 * Ends the streams of requests that are cancelled: they get no answer, and the SDK keeps their streams for as long as the session lasts. One that
 * answers several is left to the others.
 */
function cancelledStreams(end: (id: ServerContext["mcpReq"]["id"]) => void): (request: ServerContext) => void {
  const requests = new WeakMap<Request, number>();
  return ({ mcpReq, http }) => {
    const { req } = http ?? {};
    if (req === undefined) return;
    requests.set(req, (requests.get(req) ?? 0) + 1);
    const cancelled = (): void => {
      if (requests.get(req) === 1) end(mcpReq.id);
    };
    mcpReq.signal.addEventListener("abort", cancelled, { once: true });
  };
}

function notFound(): Response {
  const error = { code: -32_001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
