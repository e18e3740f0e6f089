import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { freePort } from "./free-port.js";

const packages = resolve("node_modules/@modelcontextprotocol");

/** How to start the real `server-everything` as a process. */
export const everything = {
  command: process.execPath,
  args: [resolve(packages, "server-everything/dist/index.js"), "stdio"],
};

/** How to start the real `server-filesystem` on some folders. */
export const filesystem = (...folders: readonly string[]) => ({
  command: process.execPath,
  args: [resolve(packages, "server-filesystem/dist/index.js"), ...folders],
});

/** The real `server-everything` over streamable HTTP, until the end of the block. */
export type EverythingOverHttp = AsyncDisposable & { readonly url: string; readonly port: number };

export async function everythingOverHttp(at?: number): Promise<EverythingOverHttp> {
  const port = at ?? (await freePort());
  const child = spawn(process.execPath, [everything.args[0] as string, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  await listening(child);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function listening(child: ChildProcess): Promise<void> {
  let said = "";
  for await (const chunk of child.stderr ?? []) {
    said += String(chunk);
    if (said.includes("listening")) break;
  }
  child.stdout?.resume();
  child.stderr?.resume();
}
