import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { checkFields } from "../../../domain/known-fields.js";
import { isTimeLimit } from "../../../domain/limits.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { McpAddress, McpProcess, McpServer, McpSettings, McpToolProviderOptions } from "./mcp-options.js";
import { platformRuntime } from "./mcp-runtime.js";

const OPTIONS = [
  "servers",
  "onEvent",
  "onElicitation",
  "resources",
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
  checkKinds(options);
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
    resources: options.resources === true,
    maxMessageBytes: bound("maxMessageBytes", 16 * 1024 * 1024),
    maxTools: bound("maxTools", 1_000),
    maxPages: bound("maxPages", 100),
    closeGraceMs: bound("closeGraceMs", 1_000),
    runtime: options.runtime ?? platformRuntime,
    clientInfo: options.clientInfo ?? { name: "ennead", version: "0" },
  };
}

function checkKinds({
  onEvent,
  onElicitation,
  resources,
  trustAnnotations,
  approved,
  clientInfo,
  runtime,
}: McpToolProviderOptions): void {
  for (const [name, value] of Object.entries({ onEvent, onElicitation }))
    if (!["function", "undefined"].includes(typeof value)) throw invalid(`${name} is no function`);
  for (const [name, value] of Object.entries({ resources, trustAnnotations }))
    if (!["boolean", "undefined"].includes(typeof value)) throw invalid(`${name} is no boolean`);
  if (approved !== undefined) checkTexts("", "approved", approved);
  if (clientInfo !== undefined && !(isText(clientInfo?.name) && isText(clientInfo.version)))
    throw invalid("clientInfo has no name or no version");
  if (runtime !== undefined && !(typeof runtime?.after === "function" && typeof runtime.elapsed === "function"))
    throw invalid("runtime has no after or no elapsed");
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
  if (!["boolean", "undefined"].includes(typeof server.required)) throw invalid(`${place}: required is no boolean`);
  if (!["initialize", "auto", undefined].includes(server.protocol))
    throw invalid(`${place}: protocol is initialize or auto`);
  if ("command" in server) checkProcess(place, server as McpProcess);
  else checkAddress(place, server as McpAddress);
}

function checkProcess(place: string, { command, args = [], env = {}, cwd }: McpProcess): void {
  if (!isArgument(command) || command === "") throw invalid(`${place}: command is no text`);
  if (!Array.isArray(args) || !args.every(isArgument)) throw invalid(`${place}: args is no list of texts`);
  if (cwd !== undefined && !isArgument(cwd)) throw invalid(`${place}: cwd is no text`);
  checkTexts(`${place}: `, "env", env);
}

function checkAddress(place: string, { url, headers = {}, authToken, fetch }: McpAddress): void {
  const address = String(url);
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw invalid(`${place}: url is no http or https address`);
  checkTexts(`${place}: `, "headers", headers);
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
  if (!isJsonObject(values)) throw invalid(`${place}${field} is no object of names and texts`);
  for (const [name, value] of Object.entries(values))
    if (!isArgument(value)) throw invalid(`${place}${field}.${safeLabel(name)} is no text`);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** No process and no header can be given a NUL. */
function isArgument(value: unknown): value is string {
  return isText(value) && !value.includes("\0");
}

function invalid(what: string): CompositionError {
  return new CompositionError("invalid-config", `McpToolProvider: ${what}`);
}
