import { isJsonObject } from "../domain/json.js";
import type { StageOutcome } from "../domain/stage.js";
import { unreachable } from "../domain/unreachable.js";

/** Whether an outcome holds what its kind promises: types bind no hook that was written in JavaScript. */
export function isWhole(outcome: StageOutcome): boolean {
  switch (outcome.kind) {
    case "next":
    case "patch":
      return isJsonObject(outcome.patch);
    case "stop":
    case "defer":
      return typeof outcome.reason === "string" && (outcome.patch === undefined || isJsonObject(outcome.patch));
    case "abort":
    case "block":
    case "cancel":
    case "wait":
      return typeof outcome.reason === "string";
    case "goOn":
      return Array.isArray(outcome.messages);
    case "answer":
    case "retry":
    case "finish":
    case "checkpoint":
      return true;
    default:
      return unreachable(outcome);
  }
}
