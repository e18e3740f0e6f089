import type { ReasoningEffort } from "../../../domain/model.js";
import type { ChatRequest } from "../../../ports/model.js";
import { CHAT_EFFORTS, chatBody } from "../openai-chat/openai-chat-request.js";
import { WireNames } from "../wire/wire-names.js";
import { sendableTools } from "../wire/wire-schema.js";

/** How a server differs from others of its kind; each as in `OpenAiChatOptions`. */
export type ChatCompletionBodyOptions = {
  readonly model: string;
  /** Default `"raw-stream"`, which must be the name the model's replies are stored under. */
  readonly provider?: string | undefined;
  readonly efforts?: Readonly<Partial<Record<ReasoningEffort, string>>> | undefined;
  readonly echoReasoning?: "when-present" | "always" | "never" | undefined;
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  readonly streamUsage?: boolean | undefined;
};

/**
 * The body of a streaming chat-completions request, always legal, for applications that send it themselves. Fields that are undefined
 * are not for sending. Pure.
 */
export function chatCompletionBody(
  request: ChatRequest,
  options: ChatCompletionBodyOptions,
): Readonly<Record<string, unknown>> {
  return chatBody(request, true, {
    names: new WireNames(sendableTools(request.tools).map(({ name }) => name)),
    model: options.model,
    provider: options.provider ?? "raw-stream",
    replays: true,
    echoReasoning: options.echoReasoning ?? "when-present",
    efforts: { ...CHAT_EFFORTS, ...options.efforts },
    maxTokensField: options.maxTokensField ?? "max_completion_tokens",
    streamUsage: options.streamUsage ?? true,
  });
}
