/** The wire types of chat completions, as far as they are read. All of it may be missing: servers leave out what they like. */
export type ChatCompletionChunk = {
  readonly model?: string | null | undefined;
  readonly choices?: readonly ChatCompletionChoice[] | null | undefined;
  readonly usage?: ChatCompletionUsage | null | undefined;
  /** What some servers send instead of a status. */
  readonly error?: unknown;
};

/** One choice of a chunk; `message` is a whole reply, as servers answer that do not stream. */
export type ChatCompletionChoice = {
  readonly index?: number | undefined;
  readonly delta?: ChatCompletionDelta | null | undefined;
  readonly message?: ChatCompletionDelta | null | undefined;
  readonly finish_reason?: string | null | undefined;
};

/** A piece of a reply. */
export type ChatCompletionDelta = {
  readonly role?: string | null | undefined;
  readonly content?: string | readonly unknown[] | null | undefined;
  readonly refusal?: string | null | undefined;
  readonly reasoning_content?: string | null | undefined;
  readonly tool_calls?: readonly ChatCompletionCall[] | null | undefined;
};

/** A piece of a tool call; pieces of one `index` belong together. */
export type ChatCompletionCall = {
  readonly index?: number | undefined;
  readonly id?: string | null | undefined;
  readonly function?: { readonly name?: string | null | undefined; readonly arguments?: string | null | undefined };
};

/** The tokens of a reply; cached ones are a part of the prompt's. */
export type ChatCompletionUsage = {
  readonly prompt_tokens?: number | undefined;
  readonly completion_tokens?: number | undefined;
  readonly total_tokens?: number | undefined;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | undefined } | null | undefined;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | undefined } | null | undefined;
};
