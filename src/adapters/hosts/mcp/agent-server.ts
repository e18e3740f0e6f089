import { ProtocolError, ProtocolErrorCode, Server, type ServerContext, type Tool } from "@modelcontextprotocol/server";
import { isJsonObject, type Json } from "../../../domain/json.js";
import { safeLabel, safeLine } from "../../../domain/safe-label.js";
import type { ToolDef, ToolResult } from "../../../domain/tool.js";
import type { AgentApi } from "../../../ports/agent-api.js";
import { orAborted } from "../../tools/mcp/or-aborted.js";
import { type Asked, AS_THEY_ARE, askedOf, refusal } from "./asked-params.js";
import { callInTurn } from "./call-turn.js";
import { encodeResult } from "./encode-result.js";
import type { McpServerSettings } from "./mcp-server-options.js";
import { promptOf, runCommand } from "./served-commands.js";
import type { Unread } from "./unread.js";

const MAX_WORDS = 500;
const MAX_UNSENT = 100;

/** What all connections to one agent share: its tools and commands, and how many calls run. */
export class AgentServer {
  readonly #agent: AgentApi;
  readonly #settings: McpServerSettings;
  readonly #unread: Unread;
  /** Calls that run, and the connections that asked for them. */
  readonly #running = new Map<Promise<unknown>, Server>();
  readonly #closed = new AbortController();

  constructor(agent: AgentApi, settings: McpServerSettings, unread: Unread) {
    this.#agent = agent;
    this.#settings = settings;
    this.#unread = unread;
  }

  /** The protocol's side of one connection. `onRequest` hears of what is asked of the agent, before anything is done for it. */
  connection(onRequest: (request: ServerContext) => void = () => undefined): Server {
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
    // Of two requests with one id the SDK aborts the later only.
    const gone = new AbortController();
    server.onclose = () => gone.abort();
    const run = <T>(context: ServerContext, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      this.#run(server, AbortSignal.any([context.mcpReq.signal, gone.signal, this.#closed.signal]), work);
    server.setRequestHandler("tools/list", AS_THEY_ARE, async (_, context) => {
      onRequest(context);
      return { tools: (await this.#tools()).map(toolOf) };
    });
    server.setRequestHandler("tools/call", AS_THEY_ARE, async (params, context) => {
      onRequest(context);
      const { asked, promises } = await this.#askedTool(params);
      const onProgress = progressTo(context, this.#unread, onError);
      return encodeResult(await run(context, (signal) => this.#call(asked, signal, onProgress)), { promises });
    });
    server.setRequestHandler("prompts/list", AS_THEY_ARE, () => ({ prompts: this.#commands().map(promptOf) }));
    server.setRequestHandler("prompts/get", AS_THEY_ARE, (params, context) => {
      onRequest(context);
      const { name, args } = askedOf(params);
      const command = this.#commands().find(({ id }) => id === name);
      if (command === undefined) throw refusal(`there is no prompt ${safeLabel(name)}`);
      return run(context, (signal) => orAborted(runCommand(this.#agent, command, args, signal), signal));
    });
    return server;
  }

  /** Resolves when no call of these connections runs. */
  async ended(connections: ReadonlySet<Server>): Promise<void> {
    const calls = [...this.#running].filter(([, server]) => connections.has(server));
    await Promise.allSettled(calls.map(([call]) => call));
  }

  /** Aborts the calls that run, and waits for them. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#running.keys());
  }

  async #tools(): Promise<readonly ToolDef[]> {
    return (await this.#agent.tools()).filter(this.#settings.tools);
  }

  #commands(): ReturnType<AgentApi["commands"]["list"]> {
    return this.#agent.commands.list().filter(this.#settings.commands);
  }

  /** What is asked, and whether clients were told of a structure of its result. */
  async #askedTool(params: unknown): Promise<{ readonly asked: Asked; readonly promises: boolean }> {
    const asked = askedOf(params);
    const tool = (await this.#tools()).find(({ name }) => name === asked.name);
    if (tool === undefined) throw refusal(`there is no tool ${safeLabel(asked.name)}`);
    return { asked, promises: toolOf(tool).outputSchema !== undefined };
  }

  #call(asked: Asked, signal: AbortSignal, onProgress: (partial: Json) => void): Promise<ToolResult> {
    const { keepSessions, onError } = this.#settings;
    return callInTurn(this.#agent, { ...asked, signal, onProgress }, { keepSessions, onError });
  }

  async #run<T>(server: Server, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#running.size >= this.#settings.maxCalls)
      throw new ProtocolError(ProtocolErrorCode.InternalError, "too many calls at once");
    // Nobody would wait for it.
    signal.throwIfAborted();
    const running = work(signal);
    this.#running.set(running, server);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
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

/**
 * Partial results as the progress a client asked for: what says how far it is keeps its numbers, all else is counted and said. Of those that wait
 * to be sent, or to be read, there are no more than `MAX_UNSENT`; what comes meanwhile is not told.
 */
function progressTo(
  { mcpReq, http }: ServerContext,
  unread: Unread,
  onError: (error: unknown) => void,
): (partial: Json) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let last = 0;
  let unsent = 0;
  return (partial) => {
    if (unsent >= MAX_UNSENT || unread.of(http?.req) >= MAX_UNSENT) return;
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
    unsent += 1;
    unread.add(http?.req);
    const sent = mcpReq.notify({ method: "notifications/progress", params });
    void sent.catch(onError).finally(() => (unsent -= 1));
  };
}
