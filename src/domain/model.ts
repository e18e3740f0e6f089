import type { FinishReason } from "./finish-reason.js";
import type { JsonObject } from "./json.js";
import type { AssistantPart } from "./message.js";
import type { Usage } from "./usage.js";

/** Which tool the model must call: `"auto"` leaves it to the model, `"none"` forbids, `"required"` asks for any. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** How hard the model thinks; `"maximum"` is the provider's top tier. Each model adapter documents how it maps each one. */
export type ReasoningEffort = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "maximum";

/** Sampling and output options of one model call. What is absent is left to the provider. */
export type ChatOptions = {
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  /** Tokens, reasoning included where the provider counts it so. */
  readonly maxOutputTokens?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly reasoningEffort?: ReasoningEffort | undefined;
  readonly serviceTier?: string | undefined;
  /** JSON Schema the reply's text must satisfy, where the provider can enforce it. */
  readonly responseSchema?: JsonObject | undefined;
  /** Fields merged into the wire request as they are, after everything else. */
  readonly providerOptions?: JsonObject | undefined;
};

/** The whole reply of one model call, `parts` in the provider's order. The agent makes the stored message of it. */
export type ModelResponse = {
  readonly parts: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  /** The provider's own word for `finishReason`. */
  readonly rawFinishReason?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
};
