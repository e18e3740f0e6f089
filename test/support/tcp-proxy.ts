import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What the proxy does with a request that holds the text it looks out for, from then on and for this connection. */
export type ProxyFault = "lose-request" | "lose-answer" | "hold";

/** A connection to a server that can be counted and disturbed. */
export type TcpProxy = AsyncDisposable & {
  /** The URL of the server with the proxy in its place. */
  readonly url: string;
  /** Bytes from the client to the server and back. */
  readonly traffic: { sent: number; received: number };
  /** Disturbs the next connection that sends `text`, once; resolves when it has. */
  disturb(text: string, fault: ProxyFault): Promise<void>;
  /** While true nothing goes through either way, and connections stay open. */
  silent: boolean;
};

export async function tcpProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl);
  const defaultPort = target.protocol.startsWith("redis") ? 6379 : 5432;
  const sockets = new Set<Socket>();
  const traffic = { sent: 0, received: 0 };
  let watch: { readonly text: string; readonly fault: ProxyFault; readonly done: () => void } | undefined;
  const proxy = { silent: false };

  const server = createServer((client) => {
    const upstream = connect(Number(target.port || defaultPort), target.hostname);
    let fault: ProxyFault | undefined;
    const both = [client, upstream];
    const destroy = (): void => both.forEach((socket) => socket.destroy());
    for (const socket of both) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      traffic.sent += chunk.length;
      if (watch !== undefined && chunk.includes(watch.text)) {
        ({ fault } = watch);
        watch.done();
        watch = undefined;
      }
      if (fault === "lose-request") return destroy();
      if (fault !== "hold" && !proxy.silent) upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      traffic.received += chunk.length;
      if (fault === "lose-answer") return destroy();
      if (fault !== "hold" && !proxy.silent) client.write(chunk);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  return Object.assign(proxy, {
    url: url.href,
    traffic,
    disturb: (text: string, fault: ProxyFault) =>
      new Promise<void>((done) => {
        watch = { text, fault, done };
      }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  });
}
