import { thrownLabel } from "../domain/describe-thrown.js";
import { AgentError } from "../domain/errors.js";

/** What a caller is told whose messages could not be taken: one label of why, the thrown value as cause. */
export function invalidInput(cause: unknown): AgentError {
  return new AgentError("invalid-input", thrownLabel(cause), { cause });
}
