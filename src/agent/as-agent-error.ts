import { AgentError, EnneadError, errorCategory } from "../domain/errors.js";

/** What a turn rejects with for something thrown; only a typed error's own text is repeated. */
export function asAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  const text = EnneadError.is(error) ? error.message : `${errorCategory(error)} escaped a port`;
  return new AgentError("runtime", text, { cause: error });
}
