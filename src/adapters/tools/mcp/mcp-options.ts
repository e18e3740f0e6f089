import type { Awaitable } from "../../../ports/awaitable.js";
import type { ElicitationHandler } from "./elicitation.js";
import type { McpListener } from "./mcp-events.js";
import type { McpRuntime } from "./mcp-runtime.js";

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

/** A server over streamable HTTP. Redirects are followed within its origin only; a user and password in `url` become a header, unless there is a token. */
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
  /** Offer two more tools for each server that has resources: `<server>__list_resources` and `<server>__read_resource`. Default false. */
  readonly resources?: boolean | undefined;
  /** Believe what servers say of the effects of their tools; default false. */
  readonly trustAnnotations?: boolean | undefined;
  /**
   * Fingerprints of definitions that somebody approved, as `fingerprints()` gave them: a tool without an entry is not approved. Without this
   * list, the definition of each tool that is seen first counts as approved.
   */
  readonly approved?: Readonly<Record<string, string>> | undefined;
  /** What becomes of a tool whose definition is not the approved one: `"report"` (default) offers it as it is now, `"refuse"` does not until it is approved. */
  readonly onDrift?: "report" | "refuse" | undefined;
  /** Bytes of one message; default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Tools that are read of one server, and at most so many resources and templates in a listing; default 1,000. */
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
  readonly resources: boolean;
  readonly maxMessageBytes: number;
  readonly maxTools: number;
  readonly maxPages: number;
  readonly closeGraceMs: number;
  readonly runtime: McpRuntime;
  readonly clientInfo: { readonly name: string; readonly version: string };
};
