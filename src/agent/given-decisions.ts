import { adopt } from "../domain/adopt.js";
import { type Decision, refusedDecision } from "../domain/decision.js";
import { AgentError } from "../domain/errors.js";
import { isJsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";

/** Decisions as a caller gave them, copied and frozen. Throws `AgentError("invalid-input")` naming the one that is none. */
export function givenDecisions(given: readonly Decision[] | undefined): readonly Decision[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw new AgentError("invalid-input", "decisions are a list");
  return Array.from(given, (decision: unknown, index) => {
    const copy = copied(decision, index);
    const fault = decisionFault(copy);
    if (fault !== undefined) throw refusedDecision(index, fault);
    return copy as Decision;
  });
}

function copied(decision: unknown, index: number): unknown {
  if (!isJsonObject(decision)) return undefined;
  try {
    return adopt(decision, `decisions[${index}]`);
  } catch (cause) {
    throw refusedDecision(index, "the arguments are no JSON", cause);
  }
}

const DECISION_FIELDS: ReadonlySet<string> = new Set(["callId", "approve", "arguments", "reason"]);

function decisionFault(decision: unknown): string | undefined {
  if (!isJsonObject(decision)) return "no decision";
  // A misspelt field would approve what was not meant.
  const unknown = Object.keys(decision).find((field) => !DECISION_FIELDS.has(field));
  if (unknown !== undefined) return `${safeLabel(unknown)} is no field of a decision`;
  const { callId, approve, arguments: args, reason } = decision;
  if (typeof callId !== "string") return "callId is no text";
  if (typeof approve !== "boolean") return "approve is neither true nor false";
  if (approve) return args === undefined || isJsonObject(args) ? undefined : "arguments are no object";
  return typeof reason === "string" ? undefined : "a rejection needs a reason";
}
