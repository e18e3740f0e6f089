import { AgentError } from "../domain/errors.js";
import type { EndStep } from "../domain/next-step.js";
import type { Exceeded, Turn } from "../domain/turn.js";
import { unreachable } from "../domain/unreachable.js";
import { abortedByHook } from "./as-agent-error.js";
import type { TurnRun } from "./turn-run.js";

/** What a turn rejects with that the table let fail (L8). */
export function failureOf(run: TurnRun, turn: Turn, step: Extract<EndStep, { type: "fail" }>): AgentError {
  const { maxToolRounds } = run.wiring.settings.limits;
  const { failed, hookAborted, expired, exceeded } = turn.endings;
  switch (step.why) {
    case "tool-loop-exceeded":
      return new AgentError("tool-loop-exceeded", `the turn is not over after ${maxToolRounds} rounds of tools`, {
        limit: "maxToolRounds",
      });
    case "hook-aborted":
      return abortedByHook(hookAborted?.reason ?? "a hook aborted the turn", hookAborted?.error);
    case "exceeded":
      return exceededError(expired ?? exceeded);
    case "failed":
      // Time is up only where nothing had failed: what fails later fails because of it, a write that was given up included.
      if (run.control.expired !== undefined) return expiredError(run, failed?.error);
      return failed?.error instanceof AgentError
        ? failed.error
        : new AgentError("session", "a write failed", { cause: failed?.error });
    default:
      return unreachable(step.why);
  }
}

/** What a turn fails with that may not use more. */
function exceededError(exceeded: Exceeded | undefined): AgentError {
  const { kind = "budget-exceeded", limit = "", cause } = exceeded ?? {};
  const text = kind === "output-limit" ? `a message is beyond the limit of ${limit}` : usedUp(limit);
  return new AgentError(kind, text, { limit, cause });
}

/** What a turn fails with whose time is up; `cause` is what failed with it. */
export function expiredError({ control }: TurnRun, cause?: unknown): AgentError {
  return exceededError({ kind: "budget-exceeded", limit: control.expired ?? "", cause });
}

function usedUp(limit: string): string {
  if (limit !== "maxTotalTokens" && limit !== "maxCost") return `${limit} is used up`;
  return `${limit} has no room for another model call, for which its input and maxOutputTokens, or 4096 without, are reserved`;
}
