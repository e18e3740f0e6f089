import { AgentError, EnneadError, errorCategory } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";

/** What a turn rejects with for something thrown; only a typed error's own text is repeated. */
export function asAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  const text = EnneadError.is(error) ? error.message : `${errorCategory(error)} escaped a port`;
  return new AgentError("runtime", text, { cause: error });
}

/** What a turn rejects with that a hook aborted: one label of the reason; the cause is what was thrown, else the whole reason. */
export function abortedByHook(reason: string, thrown?: unknown): AgentError {
  return new AgentError("hook-aborted", safeLabel(reason), { cause: thrown ?? reason });
}
