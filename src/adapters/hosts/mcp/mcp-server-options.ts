import type { CommandDef } from "../../../domain/command.js";
import { CompositionError } from "../../../domain/errors.js";
import { checkFields } from "../../../domain/known-fields.js";
import { isTimeLimit } from "../../../domain/limits.js";
import type { ToolDef } from "../../../domain/tool.js";
import { yesOrNo } from "../../../domain/yes-or-no.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import { tellQuietly } from "../../tools/mcp/tell-quietly.js";

/** What is offered, to whom, and within which bounds. */
export type McpServerOptions = {
  /** What clients are told; default `ennead`, version `0`. */
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly instructions?: string | undefined;
  /** Which tools are offered; default all. Others are unknown to clients. */
  readonly tools?: ((tool: ToolDef) => boolean) | undefined;
  /** Which commands are offered as prompts; default all that are visible. */
  readonly commands?: ((command: CommandDef) => boolean) | undefined;
  /**
   * Who asks over HTTP: a name for whoever the request may come from; undefined, or anything else that is no name, refuses it with 401, and a
   * throw with 503. A session belongs to the name that began it. Without this, everybody who reaches the handler may call every tool.
   */
  readonly authorize?: ((request: Request) => Awaitable<string | undefined>) | undefined;
  /** Host names under which the HTTP handler may be called, and web pages may come from; default those of this machine, against DNS rebinding. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Calls of all clients at one time; one more is refused. Default 64. */
  readonly maxCalls?: number | undefined;
  /** HTTP sessions at one time; the one unused for longest is ended for a new one. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Keep the session that each call's turn had; default false, it is deleted. */
  readonly keepSessions?: boolean | undefined;
  /** Hears of what clients are not told: failed turns, broken connections. */
  readonly onError?: ((error: unknown) => void) | undefined;
};

/** Options with every default. */
export type McpServerSettings = {
  readonly info: { readonly name: string; readonly version: string };
  readonly instructions: string | undefined;
  readonly tools: (tool: ToolDef) => boolean;
  readonly commands: (command: CommandDef) => boolean;
  readonly authorize: McpServerOptions["authorize"];
  readonly allowedHosts: readonly string[] | undefined;
  readonly maxCalls: number;
  readonly maxSessions: number;
  readonly keepSessions: boolean;
  readonly onError: (error: unknown) => void;
};

const FIELDS = [
  "name",
  "version",
  "instructions",
  "tools",
  "commands",
  "authorize",
  "allowedHosts",
  "maxCalls",
  "maxSessions",
  "keepSessions",
  "onError",
];

/** Throws `CompositionError("invalid-config")`. */
export function serverSettings(options: McpServerOptions): McpServerSettings {
  checkFields("mcpServer", options, FIELDS);
  checkKinds(options);
  const { maxCalls = 64, maxSessions = 1_000, onError } = options;
  const { tools = () => true, commands = ({ visible }) => visible } = options;
  for (const [name, value] of Object.entries({ maxCalls, maxSessions }))
    if (!isTimeLimit(value)) throw invalid(`${name} is no number above 0`);
  return {
    info: { name: options.name ?? "ennead", version: options.version ?? "0" },
    instructions: options.instructions,
    tools: (tool) => yesOrNo("tools of mcpServer", tools(tool)),
    commands: (command) => yesOrNo("commands of mcpServer", commands(command)),
    authorize: options.authorize,
    allowedHosts: options.allowedHosts,
    maxCalls,
    maxSessions,
    keepSessions: options.keepSessions === true,
    onError: (error) => tellQuietly(onError, error),
  };
}

function checkKinds(options: McpServerOptions): void {
  for (const name of ["tools", "commands", "authorize", "onError"] as const)
    if (!["function", "undefined"].includes(typeof options[name])) throw invalid(`${name} is no function`);
  for (const name of ["name", "version", "instructions"] as const)
    if (!["string", "undefined"].includes(typeof options[name])) throw invalid(`${name} is no text`);
  const { allowedHosts = [] } = options;
  if (!Array.isArray(allowedHosts) || !allowedHosts.every((host) => typeof host === "string"))
    throw invalid("allowedHosts is no list of host names");
}

function invalid(what: string): CompositionError {
  return new CompositionError("invalid-config", `mcpServer: ${what}`);
}
