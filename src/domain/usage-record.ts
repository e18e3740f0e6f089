import { decodeCorrection } from "./calibration.js";
import { isJsonObject } from "./json.js";
import type { UsageRecord } from "./session.js";
import { decodeUsage } from "./usage.js";

/** The usage record of stored metadata, which anybody may have written: only what is a count is believed. Nothing where there is none. */
export function decodeUsageRecord(value: unknown): UsageRecord | undefined {
  const session = isJsonObject(value) ? value["session"] : undefined;
  if (!isJsonObject(value) || !isJsonObject(session)) return undefined;
  const correction = decodeCorrection(value["correction"]);
  return {
    session: decodeUsage(session),
    turn: decodeTurn(value["turn"]),
    ...(correction === undefined ? undefined : { correction }),
  };
}

function decodeTurn(value: unknown): UsageRecord["turn"] {
  const { turnId, usage, modelCalls, toolCalls, cost } = isJsonObject(value) ? value : {};
  return {
    turnId: typeof turnId === "string" ? turnId : "",
    usage: decodeUsage(usage),
    modelCalls: countOf(modelCalls),
    toolCalls: countOf(toolCalls),
    ...(typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? { cost } : undefined),
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}
