import type { ModelErrorKind } from "../../../domain/errors.js";
import type { FinishReason } from "../../../domain/finish-reason.js";

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool-calls",
  tool_call: "tool-calls",
  tool_use: "tool-calls",
  function_call: "tool-calls",
  content_filter: "content-filter",
  safety: "content-filter",
  sensitive: "content-filter",
  refusal: "refusal",
};

/** Words with which servers end a reply that they could not finish: none of them is a success. */
const FAILURES: Readonly<Record<string, ModelErrorKind>> = {
  error: "server",
  abort: "server",
  aborted: "server",
  cancelled: "server",
  failed: "server",
  internal_error: "server",
  server_error: "server",
  network_error: "server",
  timeout: "timeout",
  overloaded: "overloaded",
  insufficient_system_resource: "overloaded",
};

/** What a wire's finish reason means; words not known are `"other"`. */
export function finishReasonOf(raw: string): FinishReason {
  const word = raw.toLowerCase();
  return (Object.hasOwn(REASONS, word) ? REASONS[word] : undefined) ?? "other";
}

/** Some servers write the word for "none yet" where others write null. */
export function isReason(raw: string): boolean {
  return !/^(?:null|none)$/i.test(raw);
}

/** The kind of failure a finish reason stands for, where it is none of a reply. */
export function failureOf(raw: string): ModelErrorKind | undefined {
  const word = raw.toLowerCase();
  return Object.hasOwn(FAILURES, word) ? FAILURES[word] : undefined;
}
