import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import type { CacheTime } from "./anthropic/anthropic-cache.js";
import { anthropicBody, type BodyContext } from "./anthropic/anthropic-request.js";
import { AnthropicDecoder } from "./anthropic/anthropic-stream.js";
import type { AnthropicEffort } from "./anthropic/anthropic-thinking.js";
import { offeredTools } from "./anthropic/anthropic-tools.js";
import { Endpoint } from "./wire/endpoint.js";
import type { Asked } from "./wire/healed-call.js";
import {
  checkHttpOptions,
  HTTP_OPTION_NAMES,
  HttpModel,
  type HttpModelOptions,
  type WireCall,
} from "./wire/http-model.js";
import { effectiveEfforts } from "./anthropic/anthropic-efforts.js";
import { WireNames } from "./wire/wire-names.js";
import { givenHeaders } from "./wire/given-headers.js";

export type { AnthropicEffort } from "./anthropic/anthropic-thinking.js";
export type { CacheTime } from "./anthropic/anthropic-cache.js";
export type { CallLimits } from "./wire/call-limits.js";
export type { HttpModelOptions } from "./wire/http-model.js";
export type { ApiKey } from "./wire/endpoint.js";

/** How to reach a server that speaks the Anthropic messages protocol, and what to ask of it. */
export type AnthropicOptions = HttpModelOptions & {
  /** Default `https://api.anthropic.com`; `/v1/messages` is added, or what of it is missing. User and password become basic authentication. */
  readonly baseUrl?: string | undefined;
  /** Where the key goes: the header `x-api-key` (default), or `authorization` as a bearer token. */
  readonly keyAs?: "x-api-key" | "bearer" | undefined;
  /** Default `"anthropic"`. Replies stored under another name do not get their reasoning back. */
  readonly provider?: string | undefined;
  /** Tokens of a reply where the request names no limit, since the wire demands one. Default by model: 32,000 for Claude 4 and newer. */
  readonly maxOutputTokens?: number | undefined;
  /** How long the provider keeps the beginning of a request for the next one. Default `"5m"`. */
  readonly cache?: CacheTime | undefined;
  /** How the model is told to think, where its name does not tell it: by an effort, with a budget of tokens, or not at all. */
  readonly thinking?: "adaptive" | "budget" | "none" | undefined;
  /** Whether reasoning comes back as text (default) or only signed, which is faster. */
  readonly thinkingDisplay?: "summarized" | "omitted" | undefined;
  /** Fields for efforts where the model's differ from the table in docs/models.md. */
  readonly efforts?: Readonly<Partial<Record<ReasoningEffort, AnthropicEffort>>> | undefined;
};

const OPTION_NAMES = [
  ...HTTP_OPTION_NAMES,
  "keyAs",
  "maxOutputTokens",
  "cache",
  "thinking",
  "thinkingDisplay",
  "efforts",
] as const satisfies readonly (keyof AnthropicOptions)[];

const WORDS = {
  cache: ["off", "5m", "1h"] satisfies readonly CacheTime[],
  keyAs: ["x-api-key", "bearer"],
  thinking: ["adaptive", "budget", "none"],
  thinkingDisplay: ["summarized", "omitted"],
};

/** The last version of the protocol that takes sampling options. */
const VERSION = "2023-06-01";

/**
 * Claude, and any server that speaks its messages protocol. Broken calls come back marked, never dropped. Reasoning goes back signed as
 * it came; where the provider refuses a piece of it, or an older picture or file, the request is sent once more without, so that no session
 * is stuck.
 */
export class AnthropicModel implements ModelPort {
  readonly #options: AnthropicOptions;
  readonly #endpoint: Endpoint;
  readonly #http: HttpModel;
  readonly #provider: string;

  /** Makes no request. Throws `CompositionError("invalid-config")` for a base URL that is none, an option that is unknown or makes no sense, or no model name. */
  constructor(options: AnthropicOptions) {
    checkHttpOptions("AnthropicModel", options, { known: OPTION_NAMES, words: WORDS, least: { maxOutputTokens: 1 } });
    const { baseUrl = "https://api.anthropic.com", apiKey, headers, fetch } = options;
    this.#options = options;
    this.#endpoint = new Endpoint({
      baseUrl,
      path: pathBehind(baseUrl),
      apiKey,
      keyHeader: options.keyAs === "bearer" ? undefined : "x-api-key",
      headers: { "anthropic-version": VERSION, ...Object.fromEntries(givenHeaders(headers)) },
      fetch,
    });
    this.#provider = options.provider ?? "anthropic";
    this.#http = new HttpModel(
      { provider: this.#provider, prepare: (asked, way) => this.#prepare(asked, way) },
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
      efforts: effectiveEfforts(this.#options),
      input: ["text", "image", "file"],
    };
  }

  #prepare({ request, replays: reasoning }: Asked, { stream }: { readonly stream: boolean }): WireCall {
    const options = this.#options;
    const tools = offeredTools(request.tools);
    const names = new WireNames(tools.map(({ name }) => name));
    const context: BodyContext = {
      names,
      reasoning,
      model: options.model,
      provider: this.#provider,
      cache: options.cache ?? "5m",
      display: options.thinkingDisplay ?? "summarized",
      thinking: options.thinking,
      efforts: options.efforts ?? {},
      maxOutputTokens: options.maxOutputTokens,
    };
    return {
      endpoint: this.#endpoint,
      body: () => anthropicBody(request, stream, context),
      decoder: (emit) => new AnthropicDecoder(emit),
      names,
      tools,
    };
  }
}

/** What is missing of `/v1/messages`: some name the address with the version, some without. */
function pathBehind(baseUrl: string): string {
  const path = baseUrl.replace(/[?#].*$/s, "").replace(/\/+$/, "");
  return /\/(?:v\d+[a-z0-9]*|messages)$/.test(path) ? "/messages" : "/v1/messages";
}
