import type { TSchema } from "@sinclair/typebox";
import { AgentError } from "../../../domain/errors.js";
import type { TurnEvent } from "../../../domain/event.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { type AgentMessage, isMessage, type MessageInput, textOf, userMessage } from "../../../domain/message.js";
import type { Session } from "../../../domain/session.js";
import { errorResult, type ToolResult } from "../../../domain/tool.js";
import type { AgentApi, TurnInput, TurnOptions } from "../../../ports/agent-api.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import type { Observer } from "../../../ports/observer.js";
import type { ToolContext } from "../../../ports/tool-provider.js";
import { agentDepth, oneDeeper } from "./agent-depth.js";
import { abortedCall, type AnswerKind, resultOfFailure, resultOfStored, resultOfTurn } from "./agent-outcome.js";

/** An agent, or where to find it: asked at each call, so that agents may know one another, or each tenant has its own. */
export type AgentSource = AgentApi | ((context: ToolContext) => Awaitable<AgentApi>);

/** What its turns have beside their input; the rest is decided by the call. */
export type AgentToolTurn = Omit<TurnOptions, "signal" | "turnId" | "startedAt" | "stepScope" | "takeOver" | "fork">;

/** Under this key, the metadata of the agent's input says which call it is for. */
const CALL_KEY = "ennead.agent_tool";

/** What the progress of an agent's call holds: an event of its turn, and the session that its conversation began in. */
export type AgentToolProgress = { readonly agent: string; readonly event: TurnEvent };

/** What a call of an agent needs of its definition. */
export type CalledAgentSettings = {
  readonly name: string;
  readonly result?: TSchema | undefined;
  readonly session?: "call" | "conversation" | undefined;
  readonly events?: "steps" | "all" | "none" | undefined;
  readonly turn?: AgentToolTurn | undefined;
};

/** An agent that is called as a tool: finds its session, begins or goes on, and says what it came to. */
export class CalledAgent {
  readonly #source: AgentSource;
  readonly #settings: CalledAgentSettings;
  readonly #maxDepth: number;

  constructor(source: AgentSource, settings: CalledAgentSettings, maxDepth: number) {
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
    const agent = await this.#agent(context);
    const sessionId = `${session === "conversation" ? context.sessionId : context.executionId}.${name}`;
    const kind = result === undefined ? "text" : "json";
    let stored: Session | undefined;
    try {
      stored = await agent.session(sessionId);
      const at = stored.messages.findIndex((message) => callOf(message) === context.executionId);
      const next = stored.messages.findIndex((message, index) => index > at && callOf(message) !== undefined);
      if (at !== -1 && next !== -1) return resultOfPassed(name, sessionId, stored.messages.slice(at, next), kind);
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
        return resultOfStored(name, sessionId, lastReply(stored.messages), kind);
      }
      return resultOfFailure(name, sessionId, error);
    }
  }

  async #agent(context: ToolContext): Promise<AgentApi> {
    const found: unknown = typeof this.#source === "function" ? await this.#source(context) : this.#source;
    if (isAgent(found)) return found;
    throw new TypeError(`the function that finds the agent of ${this.#settings.name} found none`);
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

/** As far as can be seen. */
export function isAgent(value: unknown): value is AgentApi {
  return typeof value === "object" && value !== null && "runTurn" in value;
}

/** A TypeBox schema without what only TypeBox knows. */
function plainSchema(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

function progressOf(context: ToolContext, sessionId: string, options: { readonly chunks: boolean }): Observer {
  return {
    onEvent(event: TurnEvent) {
      if (event.type === "streamChunk" && !options.chunks) return;
      const progress: AgentToolProgress = { agent: sessionId, event };
      context.progress(progress as unknown as Json);
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

/** The conversation has gone on with another call since: nothing of this one is open, and what it said stands. */
function resultOfPassed(
  name: string,
  sessionId: string,
  messages: readonly AgentMessage[],
  kind: AnswerKind,
): ToolResult {
  const said = lastReply(messages);
  if (said !== "") return resultOfStored(name, sessionId, said, kind);
  return errorResult(`${name} was cut off before it answered.`);
}

/** The execution whose input begins with this message. */
function callOf(message: AgentMessage): unknown {
  const metadata: unknown = isMessage(message) ? message.metadata : undefined;
  const call = isJsonObject(metadata) ? metadata[CALL_KEY] : undefined;
  return isJsonObject(call) ? call["executionId"] : undefined;
}

function lastReply(messages: readonly AgentMessage[]): string {
  const reply = messages.findLast((message) => isMessage(message) && message.role === "assistant");
  return reply !== undefined && isMessage(reply) ? textOf(reply) : "";
}
