import { adopt } from "../../domain/adopt.js";
import { createEmitter } from "../../domain/emitter.js";
import { ToolError } from "../../domain/errors.js";
import type { Json, JsonObject } from "../../domain/json.js";
import { safeLabel, safeLine } from "../../domain/safe-label.js";
import type { ToolCall, ToolDef, ToolResult } from "../../domain/tool.js";
import { unreachable } from "../../domain/unreachable.js";
import type { Lifecycle } from "../../ports/lifecycle.js";
import type { ListContext, ToolContext, ToolProvider, Validation } from "../../ports/tool-provider.js";
import { joinedName } from "./joined-name.js";
import { decodeRead, decodeResult } from "./mcp/decode-result.js";
import { Drift } from "./mcp/drift.js";
import type { ListedTool } from "./mcp/listed-tool.js";
import { type ConnectionCall, McpConnection } from "./mcp/mcp-connection.js";
import type { McpEvent } from "./mcp/mcp-events.js";
import type { McpToolProviderOptions } from "./mcp/mcp-options.js";
import { orAborted } from "./mcp/or-aborted.js";
import { paramHeaders } from "./mcp/param-headers.js";
import { decodeListing, type ListedResources } from "./mcp/resource-tools.js";
import { schemaIssues } from "./schema-check/schema-check.js";
import { settingsOf } from "./mcp/settings-of.js";
import { tellQuietly } from "./mcp/tell-quietly.js";
import type { ToolPages } from "./mcp/tool-pages.js";

export type { ElicitationAnswer, ElicitationHandler, ElicitationRequest } from "./mcp/elicitation.js";
export type { McpEvent, McpListener } from "./mcp/mcp-events.js";
export type { McpAddress, McpProcess, McpServer, McpServerLimits, McpToolProviderOptions } from "./mcp/mcp-options.js";
export type { McpRuntime } from "./mcp/mcp-runtime.js";

const MAX_PROGRESS = 500;

/** A tool that is offered, and where it is. */
type Offer = { readonly def: ToolDef; readonly tool: ListedTool; readonly connection: McpConnection };

/**
 * The tools of MCP servers, several side by side. Register it as tools and as a lifecycle: `onStart` connects to all at once, `onShutdown`
 * ends every connection and process. A server that fails, dies or lists nonsense costs its own tools and no others; a lost one is tried
 * again with back-off. Each tool is offered as `<server>__<tool>`, made legal and unique for every provider of models.
 */
export class McpToolProvider implements ToolProvider, Lifecycle {
  readonly name = "mcp";
  readonly trustAnnotations: boolean;
  readonly #options: McpToolProviderOptions;
  readonly #connections: readonly McpConnection[];
  readonly #drift: Drift;
  readonly #changes = createEmitter<void>();
  readonly #pages = new Map<McpConnection, ToolPages>();
  #offers: ReadonlyMap<string, Offer> = new Map();
  #defs: readonly ToolDef[] = [];
  #started: Promise<void> | undefined;
  #ended: Promise<void> | undefined;

  /** Throws `CompositionError("invalid-config")`. Nothing is started before `onStart`, or the first listing without it. */
  constructor(options: McpToolProviderOptions) {
    const settings = settingsOf(options);
    this.#options = options;
    this.trustAnnotations = options.trustAnnotations === true;
    this.#drift = new Drift(options.approved);
    this.#connections = Object.entries(options.servers).map(([server, how]) => {
      const connection = new McpConnection(server, how, settings, {
        onEvent: (event) => this.#tell(event),
        onStale: () => this.#changes.emit(),
        onListed: (pages) => this.#listed(connection, pages),
      });
      return connection;
    });
  }

  /** Rejects with `ToolError("transport")` when a `required` server cannot be had; nothing is left running then. */
  onStart(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /** Ends all connections and processes, whatever fails; then rejects with what failed. Idempotent. */
  onShutdown(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.onShutdown();
  }

  /** The tools of all servers, in the order of the servers. Reads the lists anew that changed; a server that cannot list, or is away, keeps what it had. Rejects only when the signal fires, or a `required` server is missing. */
  async listTools({ signal }: ListContext): Promise<readonly ToolDef[]> {
    await orAborted(this.onStart(), signal);
    await Promise.all(this.#connections.map((connection) => connection.refresh(signal)));
    return this.#defs;
  }

  /** Rejects with `ToolError`; a failure that the server tells of is a result with `isError`. */
  async execute(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    const { tool, connection } = this.#offer(call.name);
    const result = await connection.call({
      ...requestOf(tool, call.arguments),
      signal: context.signal,
      onProgress: (progress) => context.progress(progressOf(progress)),
    });
    const { outputSchema } = tool;
    if (outputSchema === undefined || result.isError) return result;
    if (result.structured === undefined) throw unfit(connection, call.name, "no structured content");
    const [issue] = schemaIssues(outputSchema, result.structured);
    if (issue === undefined) return result;
    throw unfit(
      connection,
      call.name,
      `structured content with a fault at "${safeLabel(issue.path)}" (${issue.expected})`,
    );
  }

  validate(name: string, args: JsonObject): Validation {
    const offer = this.#offers.get(name);
    const issues = offer === undefined ? [] : schemaIssues(offer.tool.inputSchema, args);
    return issues.length === 0 ? { ok: true, value: args } : { ok: false, issues };
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changes.subscribe(listener);
  }

  /** Accepts the definition of a tool as it was listed last; false for a tool that was never listed. */
  approve(name: string): boolean {
    const known = this.#drift.approve(name);
    if (known) this.#rebuild();
    return known;
  }

  /** The approved definitions by tool, to be kept and given as `approved` the next time. */
  fingerprints(): Readonly<Record<string, string>> {
    return this.#drift.fingerprints();
  }

  #offer(name: string): Offer {
    const offer = this.#offers.get(name);
    if (offer === undefined) throw new ToolError("unknown-tool", `no server has a tool ${safeLabel(name)}`);
    return offer;
  }

  async #start(): Promise<void> {
    if (this.#ended !== undefined) throw new ToolError("transport", "the servers are shut down");
    const started = await Promise.all(this.#connections.map((connection) => connection.start()));
    const missing = this.#connections.filter(
      ({ server }, index) => started[index] === false && this.#options.servers[server]?.required === true,
    );
    if (missing.length === 0) return;
    await this.onShutdown().catch(() => undefined);
    const names = missing.map(({ server }) => `"${safeLabel(server)}"`).join(", ");
    throw new ToolError("transport", `required servers could not be started: ${names}`);
  }

  async #end(): Promise<void> {
    this.#changes.close();
    const ends = await Promise.allSettled(this.#connections.map((connection) => connection.close()));
    const errors = ends.filter((end) => end.status === "rejected").map(({ reason }) => reason as unknown);
    if (errors.length > 0) throw new AggregateError(errors, "servers could not be closed");
  }

  #listed(connection: McpConnection, pages: ToolPages): void {
    const known = this.#pages.get(connection);
    this.#pages.set(connection, pages);
    const { server } = connection;
    for (const { tool, reason } of pages.refused) this.#tell({ type: "toolRefused", server, tool, reason });
    const before = this.#defs;
    this.#rebuild();
    if (known === undefined || before === this.#defs) return;
    this.#tell({ type: "toolsChanged", server, tools: pages.tools.length });
  }

  /** A definition that did not change stays the same object, and a list without changes the same list. */
  #rebuild(): void {
    const offers = new Map<string, Offer>();
    for (const connection of this.#connections) {
      const { tools = [] } = this.#pages.get(connection) ?? {};
      for (const tool of tools) {
        const name = joinedName(connection.server, tool.name);
        const known = this.#offers.get(name);
        // Tools of our own drift from nothing.
        if (tool.method === "tools/call" && !this.#accepted(connection.server, name, tool)) continue;
        offers.set(name, known?.tool.fingerprint === tool.fingerprint ? known : offerOf(name, tool, connection));
      }
    }
    const defs = [...offers.values()].map(({ def }) => def);
    this.#offers = offers;
    if (defs.length === this.#defs.length && defs.every((def, index) => def === this.#defs[index])) return;
    this.#defs = Object.freeze(defs);
    this.#changes.emit();
  }

  #accepted(server: string, name: string, tool: ListedTool): boolean {
    const { kind, news } = this.#drift.see(name, tool);
    if (kind === "as-approved") return true;
    const refused = this.#options.onDrift === "refuse";
    const change = kind === "unknown" ? "added" : "changed";
    if (news) this.#tell({ type: "toolDrifted", server, tool: safeLabel(tool.name), name, change, refused });
    return !refused;
  }

  #tell(event: McpEvent): void {
    tellQuietly(this.#options.onEvent, event);
  }
}

/** How a call is asked for, and what its answer becomes. */
function requestOf(
  { name, method, inputSchema }: ListedTool,
  args: JsonObject,
): Pick<ConnectionCall, "ask" | "decode"> {
  switch (method) {
    case "tools/call":
      return {
        ask: (session, call) =>
          session.request(
            method,
            { name, arguments: args },
            { ...call, headers: () => paramHeaders(inputSchema, args) },
          ),
        decode: decodeResult,
      };
    case "resources/read":
      return { ask: (session, call) => session.request(method, { uri: args["uri"] ?? "" }, call), decode: decodeRead };
    case "resources/list":
      return {
        ask: (session, call) => session.listResources(call),
        decode: (answer) => decodeListing(answer as ListedResources, args["contains"]),
      };
    default:
      return unreachable(method);
  }
}

function offerOf(name: string, tool: ListedTool, connection: McpConnection): Offer {
  const { label, description, inputSchema, outputSchema, annotations } = tool;
  const def: ToolDef = adopt(
    {
      name,
      description,
      inputSchema,
      source: connection.server,
      metadata: { mcp: { server: connection.server, tool: tool.name, fingerprint: tool.fingerprint } },
      ...(label === undefined ? undefined : { label }),
      ...(outputSchema === undefined ? undefined : { outputSchema }),
      ...(annotations === undefined ? undefined : { annotations }),
    },
    "tool",
  );
  return { def, tool, connection };
}

function progressOf({ progress, total, message }: JsonObject): Json {
  return {
    progress: progress ?? 0,
    ...(total === undefined ? undefined : { total }),
    ...(typeof message === "string" ? { message: safeLine(message, MAX_PROGRESS) } : undefined),
  };
}

function unfit(connection: McpConnection, tool: string, what: string): ToolError {
  const server = safeLabel(connection.server);
  return new ToolError("invocation-failed", `server "${server}" answered ${safeLabel(tool)} with ${what}`);
}
