import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";

export type WebHandler = (request: Request) => Promise<Response>;

export type WebServerOptions = {
  /** How the handler learns that the client is gone: most servers do both. */
  readonly tells?: "signal" | "cancel" | "both";
  /** Stands between the handler and the socket; gets every piece of a reply's body, and may destroy the socket. */
  readonly write?: (piece: Uint8Array, response: ServerResponse) => void;
};

/** A real `node:http` server that speaks to `handler` in web-standard requests and responses. */
export async function webServer(
  handler: WebHandler,
  { tells = "both", write = (piece, response) => void response.write(piece) }: WebServerOptions = {},
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    let cancel = (): void => undefined;
    outgoing.on("close", () => {
      if (outgoing.writableFinished) return;
      if (tells !== "cancel") gone.abort();
      if (tells !== "signal") cancel();
    });
    outgoing.on("error", () => undefined);
    const response = await handler(requestOf(incoming, gone.signal));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    const reader = response.body?.getReader();
    cancel = () => void reader?.cancel();
    for (;;) {
      const next = await reader?.read().catch(() => void outgoing.destroy());
      if (next === undefined || next.done) break;
      write(next.value, outgoing);
    }
    outgoing.end();
  };
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/model`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const body = hasBody ? (Readable.toWeb(incoming) as NodeStream<Uint8Array> as unknown as RequestInit["body"]) : null;
  return new Request(`http://127.0.0.1${incoming.url}`, {
    method: incoming.method ?? "GET",
    headers,
    body,
    signal,
    ...(hasBody ? { duplex: "half" } : {}),
  } as RequestInit);
}
