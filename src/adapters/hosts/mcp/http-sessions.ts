import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

type Session = {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly owner: string;
};

/** The sessions of clients over HTTP, each of whoever began it. Beyond `maxSessions` the one unused for longest is ended. */
export class HttpSessions {
  readonly #sessions = new Map<string, Session>();
  readonly #connect: () => Server;
  readonly #maxSessions: number;

  constructor(connect: () => Server, maxSessions: number) {
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
    const server = this.#connect();
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

function notFound(): Response {
  const error = { code: -32_001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
