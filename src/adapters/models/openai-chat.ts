import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { Endpoint } from "./wire/endpoint.js";
import { CACHE_LIFETIMES, type PromptCacheOptions } from "./openai/openai-cache.js";
import { type BodyContext, CHAT_EFFORTS, chatBody } from "./openai-chat/openai-chat-request.js";
import { ChatDecoder } from "./openai-chat/openai-chat-stream.js";
import type { Asked } from "./wire/healed-call.js";
import {
  checkHttpOptions,
  HTTP_OPTION_NAMES,
  HttpModel,
  type HttpModelOptions,
  type WireCall,
} from "./wire/http-model.js";
import { demandHealer } from "./wire/refused-replay.js";
import { describedEfforts } from "./wire/described-efforts.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export type { ApiKey } from "./wire/endpoint.js";
export type { CallLimits } from "./wire/call-limits.js";
export type { HttpModelOptions } from "./wire/http-model.js";
export type { CacheLifetime, PromptCacheOptions } from "./openai/openai-cache.js";
export { CHAT_EFFORTS } from "./openai-chat/openai-chat-request.js";

/** How to reach a server that speaks the OpenAI chat-completions protocol, and how it differs from the others. `apiKey` is sent as a bearer token. */
export type OpenAiChatOptions = HttpModelOptions &
  PromptCacheOptions & {
    /** Default `https://api.openai.com/v1`. Its query is kept; user and password in it become basic authentication. */
    readonly baseUrl?: string | undefined;
    /** Default `"openai-chat"`. Replies stored under another name do not get their reasoning back. */
    readonly provider?: string | undefined;
    /** Words for efforts where the server's differ from `CHAT_EFFORTS`. */
    readonly efforts?: Readonly<Partial<Record<ReasoningEffort, string>>> | undefined;
    /**
     * Whether reasoning goes back with the calls it led to: where there was any, as an empty field too for servers that demand it, or never
     * for servers that refuse it. Default: where there was any, and once more as the server wants it where it refuses that.
     */
    readonly echoReasoning?: "when-present" | "always" | "never" | undefined;
    /** Default `"max_completion_tokens"` at OpenAI and Azure, `"max_tokens"` elsewhere. */
    readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
    /** Default true: a streamed reply is asked to end with its usage. */
    readonly streamUsage?: boolean | undefined;
  };

const OPTION_NAMES = [
  ...HTTP_OPTION_NAMES,
  "efforts",
  "echoReasoning",
  "maxTokensField",
  "streamUsage",
  "promptCacheKey",
  "cache",
] as const satisfies readonly (keyof OpenAiChatOptions)[];

const WORDS = {
  cache: CACHE_LIFETIMES,
  echoReasoning: ["when-present", "always", "never"],
  maxTokensField: ["max_tokens", "max_completion_tokens"],
  streamUsage: [true, false],
};

/**
 * Any server that speaks the chat-completions protocol: OpenAI, Azure, DeepSeek, OpenRouter, vLLM, Ollama, llama.cpp and their like.
 * Efforts map to `reasoning_effort`: off `none`, minimal to xhigh by their own names, maximum `xhigh`. Broken calls come back marked,
 * never dropped. An error result goes out as `<tool_error>` text, since the wire has no flag for it. Where the provider refuses an older
 * picture or file, or a signature, the request is made once more without.
 */
export class OpenAiChatModel implements ModelPort {
  readonly #options: OpenAiChatOptions;
  readonly #endpoint: Endpoint;
  readonly #http: HttpModel;
  readonly #provider: string;
  readonly #efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;
  readonly #maxTokensField: BodyContext["maxTokensField"];

  /** Makes no request. Throws `CompositionError("invalid-config")` for a base URL that is none, an option that is unknown or makes no sense, or no model name. */
  constructor(options: OpenAiChatOptions) {
    checkHttpOptions("OpenAiChatModel", options, { known: OPTION_NAMES, words: WORDS });
    const { baseUrl = "https://api.openai.com/v1", apiKey, headers, fetch } = options;
    this.#options = options;
    this.#endpoint = new Endpoint({ baseUrl, path: "/chat/completions", apiKey, headers, fetch });
    this.#provider = options.provider ?? "openai-chat";
    this.#maxTokensField = options.maxTokensField ?? maxTokensFieldAt(this.#endpoint.host);
    this.#efforts = { ...CHAT_EFFORTS, ...options.efforts };
    this.#http = new HttpModel(
      {
        provider: this.#provider,
        prepare: (asked, way) => this.#prepare(asked, way),
        healers: options.echoReasoning === undefined ? [demandHealer] : [],
      },
      options,
    );
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.#http.call(request);
  }

  chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#http.call(request, onChunk);
  }

  describe(): ModelDescription {
    return {
      provider: this.#provider,
      model: this.#options.model,
      contextWindow: this.#options.contextWindow,
      efforts: describedEfforts((effort) => this.#efforts[effort] !== undefined),
      input: ["text", "image", "file"],
    };
  }

  #prepare({ request, replays, demandsReasoning = false }: Asked, { stream }: { readonly stream: boolean }): WireCall {
    const tools = sendableTools(request.tools);
    const names = new WireNames(tools.map(({ name }) => name));
    const context: BodyContext = {
      names,
      model: this.#options.model,
      provider: this.#provider,
      replays,
      echoReasoning: demandsReasoning ? "always" : (this.#options.echoReasoning ?? "when-present"),
      efforts: this.#efforts,
      maxTokensField: this.#maxTokensField,
      streamUsage: this.#options.streamUsage ?? true,
      cacheKey: this.#options.promptCacheKey?.(request),
      cache: this.#options.cache,
    };
    return {
      endpoint: this.#endpoint,
      body: () => chatBody(request, stream, context),
      decoder: (emit) => new ChatDecoder(emit),
      names,
      tools,
    };
  }
}

function maxTokensFieldAt(host: string): BodyContext["maxTokensField"] {
  return /(?:^|\.)openai\.(?:com|azure\.com)$/.test(host) ? "max_completion_tokens" : "max_tokens";
}
