/** Why the model ended its reply. The loop looks at the calls present, never at this alone (L6). */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "refusal" | "aborted" | "other";

const FINISH_REASONS: { readonly [R in FinishReason]: R } = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool-calls",
  "content-filter": "content-filter",
  refusal: "refusal",
  aborted: "aborted",
  other: "other",
};

/** A value from outside as a reason; what is none of ours is `other`. */
export function decodeFinishReason(value: unknown): FinishReason {
  return typeof value === "string" && Object.hasOwn(FINISH_REASONS, value)
    ? FINISH_REASONS[value as FinishReason]
    : "other";
}
