import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";

/** What a client sent, its body decoded. */
export type SeenRequest = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly [key: string]: unknown };
};

export type Answer = (response: ServerResponse, request: SeenRequest, nth: number) => void;

export type Loopback = AsyncDisposable & {
  /** Holds a token of this server: a request that another server's client made is refused, and is not among `requests`. */
  readonly baseUrl: string;
  readonly requests: readonly SeenRequest[];
  /** Settles when the client has closed the nth connection it opened for a request that was not answered to its end. */
  readonly closed: Promise<void>;
};

/** A real HTTP server on a free port of 127.0.0.1. */
export async function loopback(answer: Answer): Promise<Loopback> {
  const token = randomUUID();
  const requests: SeenRequest[] = [];
  let onClosed = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    onClosed = resolve;
  });
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      if (!request.url?.startsWith(`/${token}/`)) return void response.writeHead(418).end("not my client");
      const text = Buffer.concat(pieces).toString("utf8");
      const seen = { path: request.url, headers: request.headers, body: JSON.parse(text) as SeenRequest["body"] };
      requests.push(seen);
      response.on("close", () => {
        if (!response.writableFinished) onClosed();
      });
      answer(response, seen, requests.length - 1);
    });
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/${token}/v1`,
    requests,
    closed,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("no port"));
      else resolve(address.port);
    });
  });
}

/** Answers with `pieces`, each written by itself. */
export function pieces(
  list: readonly (string | Uint8Array)[],
  headers: Record<string, string> = SSE,
  status = 200,
): Answer {
  return (response) => {
    response.writeHead(status, headers);
    for (const piece of list) response.write(piece);
    response.end();
  };
}

export const SSE = { "content-type": "text/event-stream" };
export const JSON_TYPE = { "content-type": "application/json" };

/** One `data:` event. */
export function event(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

/** An event with one delta of choice 0. */
export function delta(fields: unknown, finish: string | null = null): string {
  return event({ id: "r1", model: "m1", choices: [{ index: 0, delta: fields, finish_reason: finish }] });
}

export const STOP = delta({}, "stop");
export const DONE = event("[DONE]");
