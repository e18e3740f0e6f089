import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { AgentError, CompositionError } from "../../../domain/errors.js";
import type { TurnEvent } from "../../../domain/event.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { type AgentMessage, isMessage, type MessageInput, textOf, userMessage } from "../../../domain/message.js";
import type { Session } from "../../../domain/session.js";
import { errorResult, type ToolResult } from "../../../domain/tool.js";
import type { AgentApi, TurnInput, TurnOptions } from "../../../ports/agent-api.js";
import type { Observer } from "../../../ports/observer.js";
import type { ToolContext } from "../../../ports/tool-provider.js";
import { defineTool } from "../define-tool.js";
import type { DefinedTool } from "../made-tool.js";
import type { ToolDescription } from "../tool-functions.js";
import { agentDepth, oneDeeper } from "./agent-depth.js";
import { abortedCall, resultOfFailure, resultOfStored, resultOfTurn } from "./agent-outcome.js";

const TASK = Type.Object({
  task: Type.String({ minLength: 1, description: "All it needs to know: it sees nothing else." }),
});

/** What an agent's tool takes unless it says otherwise: one text. */
export type TaskParameters = typeof TASK;

/** An agent, or where to find it: asked at each call, so that agents may know one another, or each tenant has its own. */
export type AgentSource = AgentApi | ((context: ToolContext) => AgentApi);

/** What its turns have beside their input; the rest is decided by the call. */
export type AgentToolTurn = Omit<TurnOptions, "signal" | "turnId" | "startedAt" | "stepScope" | "takeOver" | "fork">;

/** An agent as a tool of another. */
export type AgentToolDefinition<P extends TObject = TaskParameters> = ToolDescription & {
  /** Default: `{ task: string }`. Others need `input`. */
  readonly parameters?: P | undefined;
  /** What the agent is told; default the task. */
  readonly input?: ((args: Static<P>, context: ToolContext) => TurnInput) | undefined;
  /** The answer has to be JSON of this schema, which the model is told too; what is not becomes an error result. */
  readonly result?: TSchema | undefined;
  /** `"call"` (default): each call is a conversation of its own. `"conversation"`: one for each conversation that calls it, so that it remembers. */
  readonly session?: "call" | "conversation" | undefined;
  /** Events of the agent that the calling turn publishes as progress of the call: all but stream chunks (default), all, or none. */
  readonly events?: "steps" | "all" | "none" | undefined;
  /** How many agents may stand one below the other, this one included; default 4. */
  readonly maxDepth?: number | undefined;
  readonly turn?: AgentToolTurn | undefined;
};

/** Under this key, the metadata of the agent's input says which call it is for. */
const CALL_KEY = "ennead.agent_tool";

/**
 * Makes a tool of an agent. Its turn ends with the turn that calls it, draws from the same budgets, and has a session id that follows from the call: an
 * attempt that is repeated after a crash goes on with the conversation of the first, and a finished one answers again what it said. Whatever it comes to
 * is a result; `details.agent` holds its session and usage.
 */
export function agentTool<P extends TObject = TaskParameters>(
  source: AgentSource,
  definition: AgentToolDefinition<P>,
): DefinedTool {
  const { parameters, input, result, session = "call", maxDepth = 4 } = definition;
  checkAgentTool(source, definition, maxDepth);
  const called = new CalledAgent(source, definition, maxDepth);
  const messageOf = input ?? ((args: Static<P>) => (args as Static<TaskParameters>).task);
  return defineTool({
    ...definition,
    parameters: parameters ?? TASK,
    output: result,
    ...(session === "conversation" ? { conflictKeys: () => [`agent ${definition.name}`] } : undefined),
    execute: (args, context) => called.run(messageOf(args as Static<P>, context), context),
  });
}

type Checked = { readonly name: string; readonly parameters?: unknown; readonly input?: unknown };

function checkAgentTool(source: unknown, { name, parameters, input }: Checked, maxDepth: number): void {
  const isAgent = typeof source === "object" && source !== null && "runTurn" in source;
  const fault = !(typeof source === "function" || isAgent)
    ? "needs an agent, or a function that finds one"
    : parameters !== undefined && input === undefined
      ? "needs input to make a message of its own parameters"
      : Number.isSafeInteger(maxDepth) && maxDepth >= 1
        ? undefined
        : "has a maxDepth that is no count";
  if (fault !== undefined) throw new CompositionError("invalid-config", `agentTool ${String(name)} ${fault}`);
}

type Settings = Pick<AgentToolDefinition, "name" | "result" | "session" | "events" | "turn">;

class CalledAgent {
  readonly #source: AgentSource;
  readonly #settings: Settings;
  readonly #maxDepth: number;

  constructor(source: AgentSource, settings: Settings, maxDepth: number) {
    this.#source = source;
    this.#settings = settings;
    this.#maxDepth = maxDepth;
  }

  async run(input: TurnInput, context: ToolContext): Promise<ToolResult> {
    const { name, result, session } = this.#settings;
    if (agentDepth() >= this.#maxDepth) {
      return errorResult(
        `${name} is not asked: ${this.#maxDepth} agents stand one below the other already. Answer without it.`,
      );
    }
    const agent = typeof this.#source === "function" ? this.#source(context) : this.#source;
    const sessionId = `${session === "conversation" ? context.sessionId : context.executionId}.${name}`;
    const kind = result === undefined ? "text" : "json";
    let stored: Session | undefined;
    try {
      stored = await agent.session(sessionId);
      const at = stored.messages.findIndex((message) => isFor(message, context.executionId));
      const options = this.#options(sessionId, context);
      const run =
        at === -1
          ? () => agent.runTurn(marked(input, context), sessionId, options)
          : () => agent.resumeTurn(sessionId, options);
      const turn = await oneDeeper(run);
      if (turn.status === "aborted" && context.signal.aborted) throw abortedCall(name, context.signal.reason);
      return resultOfTurn(name, turn, kind);
    } catch (error) {
      if (context.signal.aborted) throw abortedCall(name, error);
      if (error instanceof AgentError && error.kind === "nothing-to-resume" && stored !== undefined) {
        return resultOfStored(name, sessionId, lastReply(stored), kind);
      }
      return resultOfFailure(name, sessionId, error);
    }
  }

  #options(sessionId: string, context: ToolContext): TurnOptions {
    const { result, turn = {}, events = "steps" } = this.#settings;
    const observers = events === "none" ? [] : [progressOf(context, sessionId, { chunks: events === "all" })];
    const schema = result === undefined ? undefined : { responseSchema: plainSchema(result) };
    return {
      ...turn,
      ...(schema === undefined ? undefined : { config: { ...schema, ...turn.config } }),
      observers: [...(turn.observers ?? []), ...observers],
      signal: context.signal,
    };
  }
}

/** A TypeBox schema without what only TypeBox knows. */
function plainSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

function progressOf(context: ToolContext, sessionId: string, options: { readonly chunks: boolean }): Observer {
  return {
    onEvent(event: TurnEvent) {
      if (event.type === "streamChunk" && !options.chunks) return;
      context.progress({ agent: sessionId, event: event as unknown as Json });
    },
  };
}

/** The input with the call it is for on its first message, by which a later attempt knows it again. */
function marked(input: TurnInput, { sessionId, turnId, callId, executionId }: ToolContext): readonly MessageInput[] {
  const messages = typeof input === "string" ? [userMessage(input)] : isList(input) ? input : [input];
  const call = { sessionId, turnId, callId, executionId };
  return messages.map((message, index) =>
    index === 0 ? { ...message, metadata: { ...message.metadata, [CALL_KEY]: call } } : message,
  );
}

function isList(input: MessageInput | readonly MessageInput[]): input is readonly MessageInput[] {
  return Array.isArray(input);
}

function isFor(message: AgentMessage, executionId: string): boolean {
  const metadata: unknown = isMessage(message) ? message.metadata : undefined;
  const call = isJsonObject(metadata) ? metadata[CALL_KEY] : undefined;
  return isJsonObject(call) && call["executionId"] === executionId;
}

function lastReply({ messages }: Session): string {
  const reply = messages.findLast((message) => isMessage(message) && message.role === "assistant");
  return reply !== undefined && isMessage(reply) ? textOf(reply) : "";
}
