import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { checkFields } from "../../../domain/known-fields.js";
import { isTimeLimit } from "../../../domain/limits.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import type { ElicitationHandler } from "./elicitation.js";
import type { McpListener } from "./mcp-events.js";
import { type McpRuntime, platformRuntime } from "./mcp-runtime.js";

/** What every server may have. Times are milliseconds. */
export type McpServerLimits = {
  /** Default false: a server that cannot be reached is reported, and the tools of the others are offered. With true, the agent does not start without it. */
  readonly required?: boolean | undefined;
  /** `"initialize"` (default) speaks the protocol of 2025, which every server knows. `"auto"` asks first whether the server speaks that of 2026-07-28. */
  readonly protocol?: "initialize" | "auto" | undefined;
  /** How long starting, the handshake and the first listing may take; default 20,000. */
  readonly startTimeoutMs?: number | undefined;
  /** How long a call may be silent; each progress notification begins it anew. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** How long a call may take altogether, whatever its progress; default 600,000. Time in which the user is asked does not count. */
  readonly maxTotalTimeoutMs?: number | undefined;
};

/** A server as a process of this machine. It inherits `PATH`, `HOME` and the like alone; anything else is named in `env`. */
export type McpProcess = McpServerLimits & {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
};

/** A server over streamable HTTP. Redirects are followed within its origin only. */
export type McpAddress = McpServerLimits & {
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as a bearer token. A function is asked for every request, and once more when the token was refused. */
  readonly authToken?: string | (() => Awaitable<string>) | undefined;
  readonly fetch?: typeof fetch | undefined;
};

/** One server. */
export type McpServer = McpProcess | McpAddress;

/** Bounds, and who hears of what happens. */
export type McpToolProviderOptions = {
  /** By the name that stands in front of the tools' names: `files__read_file`. */
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly onEvent?: McpListener | undefined;
  /** Without one, servers are not told that users can be asked, and those that ask anyway are declined. */
  readonly onElicitation?: ElicitationHandler | undefined;
  /** Believe what servers say of the effects of their tools; default false. */
  readonly trustAnnotations?: boolean | undefined;
  /** Fingerprints of definitions that somebody approved, as `fingerprints()` gave them. Without an entry, the definition seen first counts as approved. */
  readonly approved?: Readonly<Record<string, string>> | undefined;
  /** What becomes of a tool whose definition is another than the approved one: `"report"` (default) offers it as it is now, `"refuse"` does not until it is approved. */
  readonly onDrift?: "report" | "refuse" | undefined;
  /** Bytes of one message; default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Tools that are read of one server; default 1,000. */
  readonly maxTools?: number | undefined;
  /** Pages that are read of one listing; default 100. */
  readonly maxPages?: number | undefined;
  /** How long a process may take to end by itself, and again after SIGTERM; default 1,000. */
  readonly closeGraceMs?: number | undefined;
  /** Clock and timers of timeouts and of reconnecting; default those of the platform. */
  readonly runtime?: McpRuntime | undefined;
  /** What servers are told of the application. */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined;
};

/** Options with every default. */
export type McpSettings = {
  readonly onEvent: McpListener;
  readonly onElicitation: ElicitationHandler | undefined;
  readonly maxMessageBytes: number;
  readonly maxTools: number;
  readonly maxPages: number;
  readonly closeGraceMs: number;
  readonly runtime: McpRuntime;
  readonly clientInfo: { readonly name: string; readonly version: string };
};

const OPTIONS = [
  "servers",
  "onEvent",
  "onElicitation",
  "trustAnnotations",
  "approved",
  "onDrift",
  "maxMessageBytes",
  "maxTools",
  "maxPages",
  "closeGraceMs",
  "runtime",
  "clientInfo",
];
const COMMON = ["required", "protocol", "startTimeoutMs", "timeoutMs", "maxTotalTimeoutMs"];
const PROCESS = ["command", "args", "env", "cwd", ...COMMON];
const ADDRESS = ["url", "headers", "authToken", "fetch", ...COMMON];

/** Throws `CompositionError("invalid-config")` naming the server and the option that is wrong; never quotes a value of one. */
export function settingsOf(options: McpToolProviderOptions): McpSettings {
  checkFields("McpToolProvider", options, OPTIONS);
  const { servers, onDrift } = options;
  if (!isJsonObject(servers)) throw invalid("servers is no object of servers by name");
  for (const [name, server] of Object.entries(servers as Readonly<Record<string, McpServer>>))
    checkServer(name, server);
  if (onDrift !== undefined && onDrift !== "report" && onDrift !== "refuse")
    throw invalid("onDrift is report or refuse");
  const bound = (name: "maxMessageBytes" | "maxTools" | "maxPages" | "closeGraceMs", fallback: number): number => {
    const value = options[name] ?? fallback;
    if (!isTimeLimit(value)) throw invalid(`${name} is no number above 0`);
    return value;
  };
  return {
    onEvent: options.onEvent ?? (() => undefined),
    onElicitation: options.onElicitation,
    maxMessageBytes: bound("maxMessageBytes", 16 * 1024 * 1024),
    maxTools: bound("maxTools", 1_000),
    maxPages: bound("maxPages", 100),
    closeGraceMs: bound("closeGraceMs", 1_000),
    runtime: options.runtime ?? platformRuntime,
    clientInfo: options.clientInfo ?? { name: "ennead", version: "0" },
  };
}

function checkServer(name: string, server: McpServer): void {
  const place = `server "${safeLabel(name)}"`;
  if (name === "") throw invalid("a server has no name");
  if (!isJsonObject(server)) throw invalid(`${place} is no object`);
  if ("command" in server === "url" in server) throw invalid(`${place} has either a command or a url`);
  checkFields(place, server, "command" in server ? PROCESS : ADDRESS);
  for (const field of ["startTimeoutMs", "timeoutMs", "maxTotalTimeoutMs"] as const) {
    if (server[field] !== undefined && !isTimeLimit(server[field]))
      throw invalid(`${place}: ${field} is no number above 0`);
  }
  if (!["initialize", "auto", undefined].includes(server.protocol))
    throw invalid(`${place}: protocol is initialize or auto`);
  if ("command" in server) checkProcess(place, server as McpProcess);
  else checkAddress(place, server as McpAddress);
}

function checkProcess(place: string, { command, args = [], env = {}, cwd }: McpProcess): void {
  if (typeof command !== "string" || command === "") throw invalid(`${place}: command is no text`);
  if (!Array.isArray(args) || !args.every(isText)) throw invalid(`${place}: args is no list of texts`);
  if (cwd !== undefined && !isText(cwd)) throw invalid(`${place}: cwd is no text`);
  checkTexts(place, "env", env);
}

function checkAddress(place: string, { url, headers = {}, authToken, fetch }: McpAddress): void {
  const address = String(url);
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw invalid(`${place}: url is no http or https address`);
  checkTexts(place, "headers", headers);
  try {
    new Headers(headers);
  } catch {
    throw invalid(`${place}: headers hold what no header can`);
  }
  if (authToken !== undefined && !isText(authToken) && typeof authToken !== "function")
    throw invalid(`${place}: authToken is neither a text nor a function`);
  if (fetch !== undefined && typeof fetch !== "function") throw invalid(`${place}: fetch is no function`);
}

function checkTexts(place: string, field: string, values: unknown): void {
  if (!isJsonObject(values)) throw invalid(`${place}: ${field} is no object of names and texts`);
  for (const [name, value] of Object.entries(values))
    if (!isText(value) || value.includes("\0")) throw invalid(`${place}: ${field}.${safeLabel(name)} is no text`);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function invalid(what: string): CompositionError {
  return new CompositionError("invalid-config", `McpToolProvider: ${what}`);
}
