import type { ModelErrorKind } from "../../../domain/errors.js";
import type { FinishReason } from "../../../domain/finish-reason.js";

const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content-filter",
  RECITATION: "content-filter",
  BLOCKLIST: "content-filter",
  PROHIBITED_CONTENT: "content-filter",
  SPII: "content-filter",
  ESCALATION: "content-filter",
  MODEL_ARMOR: "content-filter",
  IMAGE_SAFETY: "content-filter",
  IMAGE_PROHIBITED_CONTENT: "content-filter",
  IMAGE_RECITATION: "content-filter",
};

/** What a finish reason of this wire means; it has no word for a reply that ended in calls, and words not known are `"other"`. */
export function geminiFinish(raw: string, hasCalls: boolean): FinishReason {
  const reason = (Object.hasOwn(REASONS, raw) ? REASONS[raw] : undefined) ?? "other";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** A reply that could not be finished: the same request may well bring a whole one where the model stumbled. */
export type GeminiFailure = { readonly kind: ModelErrorKind; readonly message: string; readonly retryable: boolean };

const STUMBLED: GeminiFailure = {
  kind: "response-parse",
  message: "the model broke off in a call that cannot be read",
  retryable: true,
};

const FAILURES: Readonly<Record<string, GeminiFailure>> = {
  MALFORMED_FUNCTION_CALL: STUMBLED,
  UNEXPECTED_TOOL_CALL: STUMBLED,
  MALFORMED_RESPONSE: STUMBLED,
  MISSING_THOUGHT_SIGNATURE: {
    kind: "invalid-request",
    message: "the request lacks a thought signature",
    retryable: false,
  },
  PUP_LIMITED_DISABLED: { kind: "auth", message: "the account is limited", retryable: false },
};

/** The failure a finish reason stands for, where it is none of a reply. */
export function geminiFailure(raw: string): GeminiFailure | undefined {
  return Object.hasOwn(FAILURES, raw) ? FAILURES[raw] : undefined;
}
