import type { Outcome } from "./chat-outcome.js";
import { DONE, event } from "./loopback.js";

/** A reply as the provider gives it: the message, with nothing left out that OpenAI itself sends. */
export type ChatReply = {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
};

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 80, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 6, audio_tokens: 0 },
};
const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80, reasoningTokens: 6 };
const call = (id: string, name: string, args: string) =>
  ({ id, type: "function", function: { name, arguments: args } }) as const;

/** Replies of OpenAI: what they show, the message, the finish reason, and what they come down to. */
export const CHAT_REPLIES: readonly (readonly [string, ChatReply, string, Outcome])[] = [
  ["text", { content: "hi" }, "stop", { text: "hi", finish: "stop", usage }],
  ["text of many code points", { content: "漢字🧭 é" }, "stop", { text: "漢字🧭 é", finish: "stop", usage }],
  ["no text", { content: "" }, "stop", { text: "", finish: "stop", usage }],
  ["a refusal", { refusal: "I cannot help" }, "stop", { text: "I cannot help", finish: "refusal", usage }],
  ["the output limit", { content: "ha" }, "length", { text: "ha", finish: "length", usage }],
  ["a filter", { content: "We" }, "content_filter", { text: "We", finish: "content-filter", usage }],
  [
    "a call",
    { content: null, tool_calls: [call("c1", "f", '{"a":1}')] },
    "tool_calls",
    { text: "", calls: [["c1", "f", { a: 1 }]], finish: "tool-calls", usage },
  ],
  [
    "text and calls in parallel",
    { content: "look", tool_calls: [call("c1", "f", "{}"), call("c2", "g", '{"b":[1,2]}')] },
    "tool_calls",
    {
      text: "look",
      calls: [
        ["c1", "f", {}],
        ["c2", "g", { b: [1, 2] }],
      ],
      finish: "tool-calls",
      usage,
    },
  ],
];

const HEAD = { id: "chatcmpl-1", created: 1_700_000_000, model: "m1", system_fingerprint: "fp" };

/** The reply as it answers a request without streaming. */
export function completionOf(message: ChatReply, finish_reason: string): object {
  const whole = { role: "assistant", content: null, refusal: null, ...message };
  return {
    ...HEAD,
    object: "chat.completion",
    choices: [{ index: 0, message: whole, logprobs: null, finish_reason }],
    usage: USAGE,
  };
}

/** The reply as OpenAI streams it, each text in pieces of two characters, its usage in a chunk of its own. */
export function streamedCompletion(message: ChatReply, finish: string): string {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    event({
      ...HEAD,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    });
  const cut = (text: string | null | undefined): readonly string[] => text?.match(/[^]{1,2}/gu) ?? [];
  const calls = (message.tool_calls ?? []).flatMap(({ id, type, function: called }, index) => [
    chunk({ tool_calls: [{ index, id, type, function: { name: called.name, arguments: "" } }] }),
    ...cut(called.arguments).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  return [
    chunk({ role: "assistant", content: message.refusal === undefined ? "" : null, refusal: null }),
    ...cut(message.content).map((content) => chunk({ content })),
    ...cut(message.refusal).map((refusal) => chunk({ refusal })),
    ...calls,
    chunk({}, finish),
    event({ ...HEAD, object: "chat.completion.chunk", choices: [], usage: USAGE }),
    DONE,
  ].join("");
}
