import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port that is free, and stays so until the server takes it and while it is away: none that the system gives to connections, and with
 * room above it for the one that Redis adds in a cluster, 10,000 higher.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 22_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
