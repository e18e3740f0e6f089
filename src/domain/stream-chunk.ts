import type { FinishReason } from "./finish-reason.js";
import type { Usage } from "./usage.js";
import type { ProviderData } from "./message.js";

/**
 * Text as it arrives. `part` keeps neighbouring blocks apart: a new value opens a new part, a known one continues its part wherever it
 * stands, none continues the part opened last if that is of the same type.
 */
export type TextDelta = {
  readonly type: "textDelta";
  readonly text: string;
  readonly part?: number | undefined;
  readonly providerData?: ProviderData | undefined;
};

/** Reasoning as it arrives. A `signature` belongs to the part it comes with; its pieces are appended. */
export type ReasoningDelta = {
  readonly type: "reasoningDelta";
  readonly text: string;
  readonly part?: number | undefined;
  readonly signature?: string | undefined;
  readonly redacted?: boolean | undefined;
  readonly providerData?: ProviderData | undefined;
};

/** A piece of a tool call. Pieces of one `index` belong together; a new `id` on a used index opens a new call. */
export type ToolCallDelta = {
  readonly type: "toolCallDelta";
  readonly index: number;
  readonly id?: string | undefined;
  /** Pieces are appended; one that repeats the whole name so far is ignored. */
  readonly name?: string | undefined;
  readonly argumentsDelta?: string | undefined;
  readonly providerData?: ProviderData | undefined;
};

/** Usage so far in this model call; later defined fields replace earlier ones. */
export type UsageChunk = { readonly type: "usage"; readonly usage: Usage };

/** The wire's own end marker. A stream without any is not a response. */
export type FinishChunk = {
  readonly type: "finish";
  readonly reason: FinishReason;
  readonly rawReason?: string | undefined;
};

/** Everything streamed so far in this model call is void: a retry began, or a hook rewrote the reply. */
export type ResetChunk = { readonly type: "reset"; readonly reason: string };

/** What a model port hands over while it streams. Short-lived: not frozen, not to be kept by observers. */
export type StreamChunk = TextDelta | ReasoningDelta | ToolCallDelta | UsageChunk | FinishChunk | ResetChunk;
