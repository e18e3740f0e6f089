/** Why the model ended its reply. The loop looks at the calls present, never at this alone (L6). */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "refusal" | "aborted" | "other";
