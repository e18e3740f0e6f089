import { ProtocolError, ProtocolErrorCode, Server, type ServerContext, type Tool } from "@modelcontextprotocol/server";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel, safeLine } from "../../../domain/safe-label.js";
import type { ToolDef, ToolResult } from "../../../domain/tool.js";
import type { AgentApi } from "../../../ports/agent-api.js";
import { callInTurn } from "./call-turn.js";
import { encodeResult } from "./encode-result.js";
import type { McpServerSettings } from "./mcp-server-options.js";
import { promptOf, runCommand } from "./served-commands.js";

const MAX_WORDS = 500;

/** What all connections to one agent share: its tools and commands, and how many calls run. */
export class AgentServer {
  readonly #agent: AgentApi;
  readonly #settings: McpServerSettings;
  readonly #running = new Set<Promise<ToolResult>>();
  readonly #closed = new AbortController();

  constructor(agent: AgentApi, settings: McpServerSettings) {
    this.#agent = agent;
    this.#settings = settings;
  }

  /** The protocol's side of one connection. */
  connection(): Server {
    const { info, instructions, onError } = this.#settings;
    const server = new Server(info, {
      capabilities: { tools: { listChanged: true }, prompts: {} },
      ...(instructions === undefined ? undefined : { instructions }),
      // Nothing that a client sends is compiled.
      jsonSchemaValidator: {
        getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
      },
    });
    server.onerror = onError;
    server.setRequestHandler("tools/list", async () => ({ tools: (await this.#tools()).map(toolOf) }));
    server.setRequestHandler("tools/call", async ({ params }, context) =>
      encodeResult(await this.#call(params.name, (params.arguments ?? {}) as JsonObject, context)),
    );
    server.setRequestHandler("prompts/list", () => ({ prompts: this.#commands().map(promptOf) }));
    server.setRequestHandler("prompts/get", async ({ params }, { mcpReq }) => {
      const command = this.#commands().find(({ id }) => id === params.name);
      if (command === undefined) throw unknown("prompt", params.name);
      return runCommand(this.#agent, command, params.arguments ?? {}, mcpReq.signal);
    });
    return server;
  }

  /** Aborts the calls that run, and waits for them. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#running);
  }

  async #tools(): Promise<readonly ToolDef[]> {
    return (await this.#agent.tools()).filter(this.#settings.tools);
  }

  #commands(): ReturnType<AgentApi["commands"]["list"]> {
    return this.#agent.commands.list().filter(this.#settings.commands);
  }

  async #call(name: string, args: JsonObject, context: ServerContext): Promise<ToolResult> {
    const { maxCalls, keepSessions, onError } = this.#settings;
    if (!(await this.#tools()).some((tool) => tool.name === name)) throw unknown("tool", name);
    if (this.#running.size >= maxCalls)
      throw new ProtocolError(ProtocolErrorCode.InternalError, "too many calls at once");
    const signal = AbortSignal.any([context.mcpReq.signal, this.#closed.signal]);
    const running = callInTurn(
      this.#agent,
      { name, args, signal, onProgress: progressTo(context, onError) },
      { keepSessions, onError },
    );
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}

function unknown(what: string, name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no ${what} ${safeLabel(name)}`);
}

function toolOf({ name, label, description, inputSchema, outputSchema, annotations }: ToolDef): Tool {
  const hints = Object.entries(annotations ?? {}).filter(([, hint]) => hint !== undefined);
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: "object" },
    ...(label === undefined ? undefined : { title: label }),
    ...(outputSchema?.["type"] === "object" ? { outputSchema: { ...outputSchema, type: "object" } } : undefined),
    ...(hints.length === 0 ? undefined : { annotations: Object.fromEntries(hints) }),
  };
}

/** Partial results as the progress a client asked for: what says how far it is keeps its numbers, all else is counted and said. */
function progressTo({ mcpReq }: ServerContext, onError: (error: unknown) => void): (partial: Json) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let last = 0;
  return (partial) => {
    const told = isJsonObject(partial) && typeof partial["progress"] === "number" ? partial : undefined;
    const { progress, total, message } = told ?? {
      message: typeof partial === "string" ? partial : JSON.stringify(partial),
    };
    // It must grow, whatever the tool says.
    last = typeof progress === "number" && progress > last ? progress : last + 1;
    const params = {
      progressToken,
      progress: last,
      ...(typeof total === "number" ? { total } : undefined),
      ...(typeof message === "string" ? { message: safeLine(message, MAX_WORDS) } : undefined),
    };
    mcpReq.notify({ method: "notifications/progress", params }).catch(onError);
  };
}
