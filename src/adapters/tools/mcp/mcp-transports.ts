import type { Transport } from "@modelcontextprotocol/client";
import { ToolError } from "../../../domain/errors.js";
import { HttpTransport } from "./http-transport.js";
import type { McpServer, McpSettings } from "./mcp-options.js";
import { Secrets } from "./secrets.js";
import { StdioTransport } from "./stdio-transport.js";

/** What of a server's options may never be quoted. */
export function secretsOf(server: McpServer): Secrets {
  if ("command" in server) return new Secrets(Object.values(server.env ?? {}));
  const { username, password, search, searchParams } = new URL(server.url);
  const token = typeof server.authToken === "string" ? [server.authToken] : [];
  const values = [
    ...Object.values(server.headers ?? {}),
    ...token,
    username,
    password,
    search,
    ...searchParams.values(),
  ];
  return new Secrets(values);
}

/** A transport for one connection; tokens that are asked for become known to `secrets`. */
export function transportOf(server: McpServer, settings: McpSettings, secrets: Secrets): Transport {
  const { maxMessageBytes, closeGraceMs, runtime } = settings;
  if ("command" in server) {
    const { command, args = [], env = {}, cwd } = server;
    return new StdioTransport({ command, args, env, cwd, maxMessageBytes, closeGraceMs });
  }
  const { authToken } = server;
  const ask = async (): Promise<string> => {
    const token: unknown = typeof authToken === "function" ? await authToken() : authToken;
    if (typeof token !== "string") throw new ToolError("transport", "authToken gave no text");
    secrets.addToken(token);
    return token;
  };
  return new HttpTransport({
    url: new URL(server.url),
    headers: server.headers ?? {},
    authToken: authToken === undefined ? undefined : ask,
    // Looked up when it is used, so that what replaces the platform's later counts.
    fetch: server.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    maxMessageBytes,
    closeGraceMs,
    runtime,
  });
}

/** The last line a process wrote to stderr before it ended. */
export function lastWords(transport: Transport): string {
  if (!(transport instanceof StdioTransport)) return "";
  return transport.stderr.trim().split("\n").at(-1)?.trim() ?? "";
}
