import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { Endpoint } from "./wire/endpoint.js";
import { CACHE_LIFETIMES, type PromptCacheOptions } from "./openai/openai-cache.js";
import {
  RESPONSES_EFFORTS,
  type ResponsesBodyContext,
  responsesBody,
} from "./openai-responses/openai-responses-request.js";
import { ResponsesDecoder } from "./openai-responses/openai-responses-stream.js";
import type { Asked } from "./wire/healed-call.js";
import {
  checkHttpOptions,
  HTTP_OPTION_NAMES,
  HttpModel,
  type HttpModelOptions,
  type WireCall,
} from "./wire/http-model.js";
import { describedEfforts } from "./wire/described-efforts.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export type { ApiKey } from "./wire/endpoint.js";
export type { CallLimits } from "./wire/call-limits.js";
export type { HttpModelOptions } from "./wire/http-model.js";
export type { CacheLifetime, PromptCacheOptions } from "./openai/openai-cache.js";
export { RESPONSES_EFFORTS } from "./openai-responses/openai-responses-request.js";

/** How to reach a server that speaks the OpenAI responses protocol. `apiKey` is sent as a bearer token. */
export type OpenAiResponsesOptions = HttpModelOptions &
  PromptCacheOptions & {
    /** Default `https://api.openai.com/v1`. Its query is kept; user and password in it become basic authentication. */
    readonly baseUrl?: string | undefined;
    /** Default `"openai-responses"`. Replies stored under another name do not get their reasoning back. */
    readonly provider?: string | undefined;
    /** Words for efforts where the model's differ from `RESPONSES_EFFORTS`. */
    readonly efforts?: Readonly<Partial<Record<ReasoningEffort, string>>> | undefined;
    /** Asks for a readable summary of the model's reasoning. Default: none, and the reasoning has no text. */
    readonly reasoningSummary?: "auto" | "concise" | "detailed" | undefined;
    /** Default true: encrypted reasoning is asked for and sent back. False saves one refused request a call where a model has none. */
    readonly replayReasoning?: boolean | undefined;
  };

const OPTION_NAMES = [
  ...HTTP_OPTION_NAMES,
  "efforts",
  "reasoningSummary",
  "replayReasoning",
  "promptCacheKey",
  "cache",
] as const satisfies readonly (keyof OpenAiResponsesOptions)[];

const WORDS = {
  cache: CACHE_LIFETIMES,
  reasoningSummary: ["auto", "concise", "detailed"],
  replayReasoning: [true, false],
};

/**
 * OpenAI's responses protocol, without anything stored at the provider: every request holds the conversation, and reasoning goes back
 * encrypted as it came. Efforts map to `reasoning.effort`: off `none`, minimal to xhigh by their own names, maximum `max`. Stop sequences
 * and seed have no place on this wire and are not sent. An error result goes out as `<tool_error>` text, since the wire has no flag for
 * it. Where the provider refuses the reasoning of a conversation, or an older picture or file, the request is made once more without.
 */
export class OpenAiResponsesModel implements ModelPort {
  readonly #options: OpenAiResponsesOptions;
  readonly #endpoint: Endpoint;
  readonly #http: HttpModel;
  readonly #provider: string;
  readonly #efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;

  /** Makes no request. Throws `CompositionError("invalid-config")` for a base URL that is none, an option that is unknown or makes no sense, or no model name. */
  constructor(options: OpenAiResponsesOptions) {
    checkHttpOptions("OpenAiResponsesModel", options, { known: OPTION_NAMES, words: WORDS });
    const { baseUrl = "https://api.openai.com/v1", apiKey, headers, fetch } = options;
    this.#options = options;
    this.#endpoint = new Endpoint({ baseUrl, path: "/responses", apiKey, headers, fetch });
    this.#provider = options.provider ?? "openai-responses";
    this.#efforts = { ...RESPONSES_EFFORTS, ...options.efforts };
    this.#http = new HttpModel(
      {
        provider: this.#provider,
        prepare: (asked, way) => this.#prepare(asked, way),
        replays: options.replayReasoning,
        // That reasoning is asked for is reason enough for a refusal.
        isWorthHealing: () => true,
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

  #prepare({ request, replays: replaysReasoning }: Asked, { stream }: { readonly stream: boolean }): WireCall {
    const tools = sendableTools(request.tools);
    const names = new WireNames(tools.map(({ name }) => name));
    const context: ResponsesBodyContext = {
      names,
      replaysReasoning,
      model: this.#options.model,
      provider: this.#provider,
      efforts: this.#efforts,
      summary: this.#options.reasoningSummary,
      cacheKey: this.#options.promptCacheKey?.(request),
      cache: this.#options.cache,
    };
    return {
      endpoint: this.#endpoint,
      body: () => responsesBody(request, stream, context),
      decoder: (emit) => new ResponsesDecoder(emit),
      names,
      tools,
    };
  }
}
