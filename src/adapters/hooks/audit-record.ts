import type { Json, JsonObject } from "../../domain/json.js";

/** What happened. */
export type AuditType =
  | "turn-began"
  | "model-replied"
  | "model-failed"
  /** What was said before a reply was cut short: by an abort, an interruption or a failure. */
  | "model-stopped"
  | "call-approved"
  | "call-started"
  | "call-ended"
  | "turn-ended"
  | "turn-failed";

/** One thing that happened: when (epoch milliseconds), in which turn, for whom. `facts` hold names, outcomes and counts; `content` what was said, if that is asked for. */
export type AuditRecord = {
  readonly at: number;
  readonly type: AuditType;
  readonly turnId: string;
  readonly sessionId: string;
  readonly round: number;
  readonly actor?: string;
  readonly facts: JsonObject;
  readonly content?: Json;
};
