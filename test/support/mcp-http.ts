import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A message of a client, as it came. */
export type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
};

/** What a request was. */
export type Seen = {
  readonly http: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: Message | undefined;
};

/** Takes a request over; false leaves it to the server. */
export type TakeOver = (seen: Seen, response: ServerResponse, request: IncomingMessage) => boolean | Promise<boolean>;

/** An MCP server over streamable HTTP that does what a test says. */
export type McpOverHttp = AsyncDisposable & {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** The methods of the messages, in order. */
  readonly methods: readonly string[];
  /** Forgets all sessions. */
  forget(): void;
  /** Ends all connections, and each new one at once: the port is kept, which anyone could take. */
  stop(): void;
  start(): void;
};

/** One server-sent event with a message. */
export function event(message: object, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
}

export const said = (text: string) => ({ content: [{ type: "text", text }] });

export function beginEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
}

export async function mcpOverHttp(takeOver: TakeOver = () => false): Promise<McpOverHttp> {
  const seen: Seen[] = [];
  let sessions = new Set<string>();
  let made = 0;
  const json = (response: ServerResponse, id: number | undefined, result: object, headers: object = {}): void => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  const answer = (one: Seen, response: ServerResponse): void => {
    const { message, headers } = one;
    if (message?.method === "initialize") {
      const session = `session-${(made += 1)}`;
      sessions.add(session);
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: "web", version: "1" };
      const result = { protocolVersion: message.params?.["protocolVersion"], capabilities, serverInfo };
      return json(response, message.id, result, { "mcp-session-id": session });
    }
    if (!sessions.has(String(headers["mcp-session-id"]))) return void response.writeHead(404).end("no such session");
    if (one.http === "GET") return void response.writeHead(405).end();
    if (one.http === "DELETE") return void response.writeHead(200).end();
    if (message?.id === undefined) return void response.writeHead(202).end();
    if (message.method === "tools/list")
      return json(response, message.id, { tools: [{ name: "f", inputSchema: { type: "object" } }] });
    return json(response, message.id, said("called"));
  };
  const server = createServer((request, response) => {
    void (async () => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const message = body === "" ? undefined : (JSON.parse(body) as Message);
      const one = { http: request.method ?? "", headers: request.headers, message };
      seen.push(one);
      if (!(await takeOver(one, response, request))) answer(one, response);
    })();
  });
  let away = false;
  server.on("connection", (socket) => {
    if (away) socket.destroy();
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    get methods() {
      return seen.map(({ http, message }) => message?.method ?? http);
    },
    forget: () => void (sessions = new Set()),
    stop: () => {
      away = true;
      server.closeAllConnections();
    },
    start: () => {
      away = false;
    },
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}
