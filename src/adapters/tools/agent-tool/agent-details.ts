import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { ToolExchange } from "../../../domain/tool.js";
import type { TurnResult } from "../../../domain/turn-result.js";
import { addUsage, decodeUsage, type Usage } from "../../../domain/usage.js";

/** What a call of an agent's tool says in the `details` of its result, under `agent`. */
export type AgentToolDetails = {
  /** Where its conversation is stored: what to read, to resume, or to decide about. */
  readonly sessionId: string;
  readonly turnId?: string;
  readonly status: TurnResult["status"] | "failed";
  readonly rounds?: number;
  /** Of its turn, and of those of the agents it called. */
  readonly usage: Usage;
  /** Calls that wait for a decision in its session. */
  readonly deferred?: readonly { readonly callId: string; readonly toolName: string }[];
};

/** The details of a turn, or of what is known of one that failed. */
export function detailsOf(
  sessionId: string,
  status: AgentToolDetails["status"],
  turn: TurnResult | undefined,
): JsonObject {
  if (turn === undefined) return { agent: { sessionId, status, usage: {} } };
  const deferred = turn.deferred.map(({ callId, toolName }) => ({ callId, toolName }));
  return {
    agent: {
      sessionId: turn.finalSessionId,
      turnId: turn.turnId,
      status,
      rounds: turn.rounds,
      usage: { ...addUsage(turn.usage, subAgentUsage(turn.exchanges)) },
      ...(deferred.length === 0 ? undefined : { deferred }),
    },
  };
}

/** What agents used that a turn called as tools, all below them included; the turn's own usage is not in it. */
export function subAgentUsage(exchanges: readonly Pick<ToolExchange, "result">[]): Usage {
  return exchanges.map(({ result }) => usageIn(result.details)).reduce<Usage>(addUsage, {});
}

function usageIn(details: Json | undefined): Usage {
  const agent = isJsonObject(details) && Object.hasOwn(details, "agent") ? details["agent"] : undefined;
  return isJsonObject(agent) ? decodeUsage(agent["usage"]) : {};
}
