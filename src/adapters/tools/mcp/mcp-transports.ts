import type { Transport } from "@modelcontextprotocol/client";
import { safeLabel } from "../../../domain/safe-label.js";
import { HttpTransport } from "./http-transport.js";
import type { McpAddress, McpServer, McpSettings } from "./mcp-options.js";
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
    ...[username, password].flatMap((text) => [text, decoded(text)]),
    basicOf(server) ?? "",
    search,
    ...searchParams.values(),
  ];
  return new Secrets(values);
}

/** The user and password of an address as a header has them: no request may have them in its address. */
function basicOf({ url }: McpAddress): string | undefined {
  const { username, password } = new URL(url);
  if (username === "" && password === "") return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64")}`;
}

/** Percent-encoded text decoded; as it is where it is not well-formed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A transport for one connection; tokens that are asked for become known to `secrets`. */
export function transportOf(server: McpServer, settings: McpSettings, secrets: Secrets): Transport {
  const { maxMessageBytes, closeGraceMs, runtime } = settings;
  if ("command" in server) {
    const { command, args = [], env = {}, cwd } = server;
    return new StdioTransport({ command, args, env, cwd, maxMessageBytes, closeGraceMs });
  }
  const url = new URL(server.url);
  url.username = url.password = "";
  const { authToken, headers = {} } = server;
  const basic = authToken === undefined ? basicOf(server) : undefined;
  return new HttpTransport({
    url,
    headers: { ...(basic === undefined ? undefined : { authorization: basic }), ...lowered(headers) },
    authToken: authToken === undefined ? undefined : () => tokenOf(authToken, secrets),
    // Looked up when it is used, so that what replaces the platform's later counts.
    fetch: server.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    maxMessageBytes,
    closeGraceMs,
    runtime,
  });
}

/** Header names in one case, so that one given is the one that counts. */
function lowered(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Rejects with errors in our own words: those of a function may hold what it was given. */
async function tokenOf(authToken: NonNullable<McpAddress["authToken"]>, secrets: Secrets): Promise<string> {
  let token: unknown;
  try {
    token = typeof authToken === "function" ? await authToken() : authToken;
  } catch {
    throw new Error("the function that is asked for authToken failed");
  }
  const text = typeof token === "string" ? token.trim() : "";
  if (text === "") throw new Error("authToken gave no text");
  secrets.addToken(text);
  if (!/^[\x20-\x7e]+$/.test(text)) throw new Error("authToken holds characters that no header can");
  return text;
}

/** Of what is kept, so that no secret whose beginning is not is told. */
const MAX_WORDS = 4_096;

/** The last line a process wrote to stderr before it ended, as a label without secrets. */
export function lastWords(transport: Transport, secrets: Secrets): string {
  if (!(transport instanceof StdioTransport)) return "";
  const words = secrets.hide(transport.stderr).slice(-MAX_WORDS).trim().split("\n").at(-1)?.trim() ?? "";
  return secrets.hide(safeLabel(words));
}
