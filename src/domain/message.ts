import { type Content, type ContentInput, contentText, type Metadata, toContent } from "./content.js";
import type { Json } from "./json.js";
import type { FinishReason } from "./finish-reason.js";
import type { Usage } from "./usage.js";
import { errorResult, type ToolCall, type ToolOutcome, type ToolResult } from "./tool.js";

/** Opaque data a provider wants back unchanged (signatures, encrypted reasoning). */
export type ProviderData = Json;

/** Text the model wrote. */
export type TextPart = { readonly type: "text"; readonly text: string; readonly providerData?: ProviderData };

/** The model's reasoning; `redacted` text is the provider's cipher, not for showing. */
export type ReasoningPart = {
  readonly type: "reasoning";
  readonly text: string;
  readonly signature?: string;
  readonly redacted?: boolean;
  readonly providerData?: ProviderData;
};

/** A tool call as a part of a reply. */
export type ToolCallPart = { readonly type: "toolCall"; readonly providerData?: ProviderData } & ToolCall;

/** One part of a reply; parts keep the provider's order through every store. */
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

/** What every stored message has. `at` is epoch milliseconds. */
export type MessageStamp = { readonly id: string; readonly at: number };

type Common = { readonly metadata?: Metadata };

type SystemBody = Common & { readonly role: "system"; readonly content: readonly Content[]; readonly name?: string };
type UserBody = Common & { readonly role: "user"; readonly content: readonly Content[]; readonly name?: string };

/** Why a reply is not whole: the turn was aborted, a person interrupted it, or the model failed after output began. */
export type StoppedBy = "aborted" | "interrupted" | "error";

type AssistantBody = Common & {
  readonly role: "assistant";
  readonly parts: readonly AssistantPart[];
  readonly name?: string;
  readonly finishReason?: FinishReason;
  readonly usage?: Usage;
  readonly model?: string;
  readonly provider?: string;
  readonly stopped?: StoppedBy;
};
type ToolBody = Common & {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly Content[];
  readonly structured?: Json;
  readonly details?: Json;
  readonly isError: boolean;
  readonly outcome: ToolOutcome;
};

/** An instruction within the conversation; the agent's own prompt is not stored and is never one. */
export type SystemMessage = SystemBody & MessageStamp;
/** What a person or program said to the agent. */
export type UserMessage = UserBody & MessageStamp;
/** One reply; calls of it without a result are settled before the next request. */
export type AssistantMessage = AssistantBody & MessageStamp;
/** The answer to one call of the nearest earlier assistant message that asked for it. */
export type ToolMessage = ToolBody & MessageStamp;

/** A stored message: deep-frozen and shared by reference. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Extended by applications through declaration merging; each member needs `id`, `at` and a `role` of its own. */
export interface CustomMessages {}

/** What a session holds: messages, and the application's own kinds, which reach the model only through `toModelMessages`. */
export type AgentMessage = Message | CustomMessages[keyof CustomMessages];

type Loose<T> = { readonly [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] };
type InputOf<B> = B extends { readonly content: readonly Content[] }
  ? Loose<Omit<B, "content">> & { readonly content: ContentInput }
  : Loose<B>;

/** A message without `id` and `at`: what helpers, hooks, compressors and callers make. The agent stamps both when it adds one. */
export type MessageInput = InputOf<SystemBody> | InputOf<UserBody> | InputOf<AssistantBody> | InputOf<ToolBody>;

type Extras = { readonly name?: string | undefined; readonly metadata?: Metadata | undefined };

/** Input of the person or program that talks to the agent. */
export function userMessage(content: ContentInput, extras: Extras = {}): InputOf<UserBody> {
  return { role: "user", content: toContent(content), ...extras };
}

/** An instruction that becomes part of the conversation; the agent's own prompt is `config.system`. */
export function systemMessage(content: ContentInput, extras: Extras = {}): InputOf<SystemBody> {
  return { role: "system", content: toContent(content), ...extras };
}

/** A reply; a string stands for one text part. */
export function assistantMessage(
  parts: string | readonly AssistantPart[],
  extras: Extras = {},
): InputOf<AssistantBody> {
  const list = typeof parts === "string" ? [{ type: "text", text: parts } as const] : parts;
  return { role: "assistant", parts: list, ...extras };
}

/** The stored form of a call's result; `terminate` is not stored. `outcome` defaults to what `isError` suggests. */
export function toolResultMessage(
  call: ToolCall,
  result: ToolResult,
  outcome: ToolOutcome = result.isError ? "failed" : "completed",
): InputOf<ToolBody> {
  return {
    role: "tool",
    toolCallId: call.id,
    toolName: call.name,
    content: result.content,
    ...(result.structured === undefined ? undefined : { structured: result.structured }),
    ...(result.details === undefined ? undefined : { details: result.details }),
    isError: result.isError,
    outcome,
  };
}

/** An error result for a call, in its stored form. */
export function toolErrorMessage(call: ToolCall, error: string, outcome: ToolOutcome = "failed"): InputOf<ToolBody> {
  return toolResultMessage(call, errorResult(error), outcome);
}

/** True for the four roles a model knows. */
export function isMessage(message: AgentMessage): message is Message {
  const role: string = message.role;
  return role === "user" || role === "assistant" || role === "tool" || role === "system";
}

/** All text of a message in order, reasoning and calls left out. */
export function textOf(message: Message | MessageInput): string {
  if (message.role !== "assistant") return contentText(toContent(message.content));
  let text = "";
  for (const part of message.parts) if (part.type === "text") text += part.text;
  return text;
}

/** All reasoning text of a reply that is not redacted, in order; empty for other roles. */
export function reasoningOf(message: Message | MessageInput): string {
  if (message.role !== "assistant") return "";
  let text = "";
  for (const part of message.parts) if (part.type === "reasoning" && part.redacted !== true) text += part.text;
  return text;
}

/** The calls of a reply in source order; empty for other roles. */
export function toolCallsOf(message: Message | MessageInput): readonly ToolCall[] {
  if (message.role !== "assistant") return NO_CALLS;
  let calls: ToolCall[] | undefined;
  for (const part of message.parts) if (part.type === "toolCall") (calls ??= []).push(callOf(part));
  return calls ?? NO_CALLS;
}

function callOf(part: ToolCallPart): ToolCall {
  const { id, name, arguments: args, raw, malformed } = part;
  if (raw === undefined && malformed === undefined) return { id, name, arguments: args };
  return {
    id,
    name,
    arguments: args,
    ...(raw === undefined ? undefined : { raw }),
    ...(malformed === undefined ? undefined : { malformed }),
  };
}

const NO_CALLS: readonly ToolCall[] = Object.freeze([]);
