import { adopt, isAdopted } from "./adopt.js";
import { decodeFinishReason } from "./finish-reason.js";
import { isJsonObject, type JsonObject } from "./json.js";
import type { ModelResponse } from "./model.js";
import { listFault, replyPartFault } from "./part-shape.js";
import { decodeUsage, isUsage } from "./usage.js";

/**
 * A frozen copy of what a model port or a hook says a reply is; one that was decoded before is returned as it is. Counts that are no
 * whole numbers and labels that are no text are left out, an unknown reason is `other`. Throws a TypeError naming `place` for parts that
 * are none, and for what JSON cannot hold.
 */
export function decodeResponse(value: unknown, place: string): ModelResponse {
  if (!isJsonObject(value)) throw new TypeError(`${place} is no response`);
  const response = adopt(isAdopted(value) ? value : withCounts(value), place);
  if (!isJsonObject(response)) throw new TypeError(`${place} is no response`);
  const fault = listFault(response["parts"], replyPartFault);
  if (fault !== undefined) throw new TypeError(`${place}.parts${fault}`);
  return isWhole(response) ? response : mended(response);
}

/** The reply of which nothing is left but why: neither its words nor its calls. */
export function withheldResponse(response: ModelResponse, reason: string): ModelResponse {
  const parts = [{ type: "text", text: `[withheld: ${reason}]` }] as const;
  return adopt({ ...response, parts, finishReason: "content-filter" }, "withheld reply");
}

/** Not every count that a port makes is one that JSON can hold: the reply is paid for, and is not lost for it. */
function withCounts(value: JsonObject): JsonObject {
  const { usage } = value;
  return isJsonObject(usage) && !isUsage(usage) ? { ...value, usage: decodeUsage(usage) } : value;
}

const LABELS = ["rawFinishReason", "model", "provider"] as const;

function isWhole(response: JsonObject): response is JsonObject & ModelResponse {
  const { finishReason, usage } = response;
  if (decodeFinishReason(finishReason) !== finishReason || !(usage === undefined || isUsage(usage))) return false;
  for (const label of LABELS) if (response[label] !== undefined && typeof response[label] !== "string") return false;
  return true;
}

function mended(response: JsonObject): ModelResponse {
  const { finishReason, usage, ...rest } = response;
  const whole: Record<string, unknown> = { ...rest, finishReason: decodeFinishReason(finishReason) };
  if (isJsonObject(usage)) whole["usage"] = decodeUsage(usage);
  for (const label of LABELS) if (typeof whole[label] !== "string") delete whole[label];
  return adopt(whole as ModelResponse, "response");
}
