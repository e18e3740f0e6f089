import { CompositionError } from "../../domain/errors.js";
import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { checkOptions } from "./shared/check-options.js";
import { LEAST_LIMITS, callLimits, type CallLimits, LIMIT_NAMES } from "./wire/call-limits.js";
import { callModel, type ModelCall } from "./wire/call-model.js";
import { prepared } from "./wire/prepared.js";
import { type ApiKey, Endpoint } from "./wire/endpoint.js";
import { CACHE_LIFETIMES, type PromptCacheOptions } from "./openai/openai-cache.js";
import {
  RESPONSES_EFFORTS,
  type ResponsesBodyContext,
  responsesBody,
} from "./openai-responses/openai-responses-request.js";
import { ResponsesDecoder } from "./openai-responses/openai-responses-stream.js";
import { type Asked, callHealing } from "./wire/healed-call.js";
import { mediaHealer } from "./wire/refused-media.js";
import { replayHealer } from "./wire/refused-replay.js";
import { describedEfforts } from "./wire/described-efforts.js";
import { encodeJson } from "./wire/wire-json.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export type { ApiKey } from "./wire/endpoint.js";
export type { CallLimits } from "./wire/call-limits.js";
export type { CacheLifetime, PromptCacheOptions } from "./openai/openai-cache.js";
export { RESPONSES_EFFORTS } from "./openai-responses/openai-responses-request.js";

/** How to reach a server that speaks the OpenAI responses protocol. */
export type OpenAiResponsesOptions = Partial<CallLimits> &
  PromptCacheOptions & {
    readonly model: string;
    /** Default `https://api.openai.com/v1`. Its query is kept; user and password in it become basic authentication. */
    readonly baseUrl?: string | undefined;
    /** Sent as a bearer token. A function is asked before every request, so that keys may expire. */
    readonly apiKey?: ApiKey | undefined;
    /** Added to every request; they replace the adapter's own headers. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly fetch?: typeof globalThis.fetch | undefined;
    /** Default `"openai-responses"`. Replies stored under another name do not get their reasoning back. */
    readonly provider?: string | undefined;
    /** Tokens; only reported by `describe`. */
    readonly contextWindow?: number | undefined;
    /** Words for efforts where the model's differ from `RESPONSES_EFFORTS`. */
    readonly efforts?: Readonly<Partial<Record<ReasoningEffort, string>>> | undefined;
    /** Asks for a readable summary of the model's reasoning. Default: none, and the reasoning has no text. */
    readonly reasoningSummary?: "auto" | "concise" | "detailed" | undefined;
    /** Default true: encrypted reasoning is asked for and sent back. False saves one refused request a call where a model has none. */
    readonly replayReasoning?: boolean | undefined;
  };

const OPTION_NAMES = [
  "model",
  "baseUrl",
  "apiKey",
  "headers",
  "fetch",
  "provider",
  "contextWindow",
  "efforts",
  "reasoningSummary",
  "replayReasoning",
  "promptCacheKey",
  "cache",
  ...LIMIT_NAMES,
] as const satisfies readonly (keyof OpenAiResponsesOptions)[];

const WORDS = {
  cache: CACHE_LIFETIMES,
  reasoningSummary: ["auto", "concise", "detailed"],
  replayReasoning: [true, false],
};

const NUMBERS = { ...LEAST_LIMITS, contextWindow: 1 };

type Way = { readonly stream: boolean; readonly onChunk: ChunkListener };

/**
 * OpenAI's responses protocol, without anything stored at the provider: every request holds the conversation, and reasoning goes back
 * encrypted as it came. Efforts map to `reasoning.effort`: off `none`, minimal to xhigh by their own names, maximum `max`. Stop sequences
 * and seed have no place on this wire and are not sent. An error result goes out as `<tool_error>` text, since the wire has no flag for
 * it. Where the provider refuses the reasoning of a conversation, or an older picture or file, the request is made once more without.
 */
export class OpenAiResponsesModel implements ModelPort {
  readonly #options: OpenAiResponsesOptions;
  readonly #endpoint: Endpoint;
  readonly #limits: CallLimits;
  readonly #provider: string;
  readonly #efforts: Readonly<Partial<Record<ReasoningEffort, string>>>;

  /** Makes no request. Throws `CompositionError("invalid-config")` for a base URL that is none, an option that is unknown or makes no sense, or no model name. */
  constructor(options: OpenAiResponsesOptions) {
    checkOptions("OpenAiResponsesModel", options, OPTION_NAMES, NUMBERS, WORDS);
    if (typeof options.model !== "string" || options.model === "") {
      throw new CompositionError("invalid-config", "OpenAiResponsesModel needs the name of a model");
    }
    const { baseUrl = "https://api.openai.com/v1", apiKey, headers, fetch } = options;
    this.#options = options;
    this.#endpoint = new Endpoint({ baseUrl, path: "/responses", apiKey, headers, fetch });
    this.#provider = options.provider ?? "openai-responses";
    this.#limits = callLimits(options);
    this.#efforts = { ...RESPONSES_EFFORTS, ...options.efforts };
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.#call(request, { stream: false, onChunk: () => undefined });
  }

  chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#call(request, { stream: true, onChunk });
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

  async #call(request: ChatRequest, way: Way): Promise<ModelResponse> {
    // That reasoning is asked for is reason enough for a refusal.
    const replay = replayHealer(() => true);
    const send = (asked: Asked): Promise<ModelResponse> =>
      callModel(prepared(this.#provider, () => this.#prepare(asked, way)));
    const replays = this.#options.replayReasoning ?? true;
    return await callHealing({ request, replays }, send, [mediaHealer, replay]);
  }

  #prepare({ request, replays: replaysReasoning }: Asked, { stream, onChunk }: Way): ModelCall {
    const tools = sendableTools(request.tools).map(({ name }) => name);
    const names = new WireNames(tools);
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
      provider: this.#provider,
      limits: this.#limits,
      signal: request.signal,
      accept: stream ? "text/event-stream" : "application/json",
      encode: () => encodeJson(responsesBody(request, stream, context)),
      decoder: (emit) => new ResponsesDecoder(emit),
      names,
      toolNames: tools.map((name) => names.toWire(name)),
      onChunk,
    };
  }
}
