import { AgentError, Defect, errorCategory, ToolError } from "../../../domain/errors.js";
import type { Json } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { errorResult, okResult, type ToolResult } from "../../../domain/tool.js";
import type { TurnResult } from "../../../domain/turn-result.js";
import { unreachable } from "../../../domain/unreachable.js";
import { detailsOf } from "./agent-details.js";

/** How an answer is told: as it is, or as the JSON it has to be. */
export type AnswerKind = "text" | "json";

/** What the calling model is told of a turn that ended. */
export function resultOfTurn(name: string, turn: TurnResult, kind: AnswerKind): ToolResult {
  const details = detailsOf(turn.finalSessionId, turn.status, turn);
  switch (turn.status) {
    case "completed":
      return kind === "json" ? structured(name, turn.text, details) : okResult(answerOf(name, turn.text), { details });
    case "stopped": {
      const reason = turn.stopReason === undefined ? "" : ` (${safeLabel(turn.stopReason)})`;
      return errorResult(`${name} stopped before it was done${reason}.${saidSoFar(turn.text)}`, { details });
    }
    case "deferred":
      return errorResult(
        `${name} waits for a decision about ${waitingCalls(turn)}; its task is not done. Say so; it goes on where that is decided, not by another call.`,
        { details },
      );
    case "aborted":
      return errorResult(`${name} was aborted before it was done.${saidSoFar(turn.text)}`, { details });
    default:
      return unreachable(turn.status);
  }
}

/** An answer that was stored before, by an attempt at the same call. */
export function resultOfStored(name: string, sessionId: string, text: string, kind: AnswerKind): ToolResult {
  const details = detailsOf(sessionId, "completed", undefined);
  return kind === "json" ? structured(name, text, details) : okResult(answerOf(name, text), { details });
}

/** What the calling model is told of a turn that failed. Quotes nothing that a provider said. Throws what is no failure of the agent. */
export function resultOfFailure(name: string, sessionId: string, error: unknown): ToolResult {
  if (Defect.is(error) || !(error instanceof AgentError)) throw error;
  const { partial } = error;
  const details = detailsOf(sessionId, "failed", partial);
  return errorResult(`${name} ${failureText(error)}.${saidSoFar(partial?.text ?? "")}`, { details });
}

/** The turn around it is over: no result would be read. */
export function abortedCall(name: string, cause: unknown): ToolError {
  return new ToolError("aborted", `${name} was aborted with the turn that called it`, { cause });
}

function failureText(error: AgentError): string {
  switch (error.kind) {
    case "budget-exceeded":
    case "tool-loop-exceeded":
    case "output-limit":
      return `ran into its limit${error.limit === undefined ? "" : ` ${safeLabel(error.limit)}`} before it was done`;
    case "model":
      return `could not ask its model: ${errorCategory(error.cause)}`;
    case "hook-aborted":
      return "was stopped by one of its hooks";
    case "invalid-input":
      return "cannot take a task like this";
    case "shut-down":
      return "is shut down";
    case "session":
    case "runtime":
    case "nothing-to-resume":
      return `failed: ${errorCategory(error)}`;
    default:
      return unreachable(error.kind);
  }
}

function answerOf(name: string, text: string): string {
  return text === "" ? `${name} is done and said nothing.` : text;
}

function saidSoFar(text: string): string {
  return text === "" ? "" : `\nIt had said:\n${text}`;
}

function waitingCalls({ deferred }: TurnResult): string {
  const names = deferred.slice(0, 8).map(({ toolName }) => safeLabel(toolName));
  return `${deferred.length === 1 ? "a call of" : `${deferred.length} calls of`} ${[...new Set(names)].join(", ")}`;
}

function structured(name: string, text: string, details: Json): ToolResult {
  try {
    return okResult([], { structured: JSON.parse(unfenced(text)) as Json, details });
  } catch {
    return errorResult(`${name} answered with what is no JSON.${saidSoFar(text)}`, { details });
  }
}

const FENCE = "```";
const OPENING = /^```(?:json)?[^\S\n]*\n/i;

/** Models like to put JSON in a fence. */
function unfenced(text: string): string {
  const answer = text.trim();
  const opening = OPENING.exec(answer);
  return opening !== null && answer.endsWith(FENCE) ? answer.slice(opening[0].length, -FENCE.length) : text;
}
