import { randomBytes } from "node:crypto";
import { adopt } from "../../../domain/adopt.js";
import { describeThrown } from "../../../domain/describe-thrown.js";
import { AgentError } from "../../../domain/errors.js";
import type { Json, JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { errorResult, type ToolResult } from "../../../domain/tool.js";
import type { TurnResult } from "../../../domain/turn-result.js";
import type { AgentApi } from "../../../ports/agent-api.js";
import type { PipelineHook } from "../../../ports/hook.js";
import { calledToolModel } from "./called-tool-model.js";

/** One call of a client. */
export type ClientCall = {
  readonly name: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress: (partial: Json) => void;
};

/** How calls are made. `keepSessions` leaves the session of each call in the store. */
export type CallOptions = { readonly keepSessions: boolean; readonly onError: (error: unknown) => void };

/** The batch of one call is all there is to do. */
const ONE_BATCH: PipelineHook = {
  name: "mcp-call",
  stages: ["beforeContinue"],
  onStage: (_, context) => context.finish(),
};

/**
 * Runs a call as a turn of its own on a session of its own: validation, hooks, approval, limits, budgets, events and stores are those of the
 * agent, and calls of one client do not wait for one another. Rejects only when the agent is shut down.
 */
export async function callInTurn(agent: AgentApi, call: ClientCall, options: CallOptions): Promise<ToolResult> {
  // Stores remember which ids they deleted; a UUID is put together of twenty texts, all of which would stay.
  const sessionId = `mcp-${randomBytes(16).toString("hex")}`;
  const { name, signal } = call;
  const args = readArguments(call);
  if (typeof args === "string") return errorResult(`The call was not made: ${args}`);
  const turn = agent.startTurn(`A client calls the tool ${safeLabel(name)}.`, sessionId, {
    signal,
    model: calledToolModel({ id: "call-1", name, arguments: args }),
    hooks: [ONE_BATCH],
  });
  const stop = turn.subscribe((event) => {
    if (event.type === "toolCallProgress") call.onProgress(event.partial);
  });
  try {
    return resultOf(await turn.result);
  } catch (error) {
    if (!(error instanceof AgentError) || error.kind === "shut-down") throw error;
    options.onError(error);
    return error.partial?.exchanges[0]?.result ?? errorResult(`The call failed: ${error.message}`);
  } finally {
    stop();
    if (!options.keepSessions) await agent.sessions.delete(sessionId).catch(options.onError);
  }
}

/** What cannot be read is said by its place: 1e999 is legal as text, and no number that JSON holds. */
function readArguments({ args }: ClientCall): JsonObject | string {
  try {
    return adopt(args, "arguments");
  } catch (error) {
    return describeThrown(error);
  }
}

function resultOf({ exchanges, deferred, status, stopReason }: TurnResult): ToolResult {
  const [waiting] = deferred;
  // Whoever calls is not whoever may approve.
  if (waiting !== undefined) return errorResult(`The call was not made: ${waiting.reason}`);
  return exchanges[0]?.result ?? errorResult(`The call was not made: ${stopReason ?? status}`);
}
