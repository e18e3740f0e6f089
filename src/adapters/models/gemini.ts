import { CompositionError } from "../../domain/errors.js";
import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { Endpoint } from "./wire/endpoint.js";
import { geminiBody } from "./gemini/gemini-request.js";
import type { Asked } from "./wire/healed-call.js";
import {
  checkHttpOptions,
  HTTP_OPTION_NAMES,
  HttpModel,
  type HttpModelOptions,
  type WireCall,
} from "./wire/http-model.js";
import { GeminiDecoder } from "./gemini/gemini-stream.js";
import { type GeminiGeneration, geminiEfforts, type GeminiThinking, generationOf } from "./gemini/gemini-thinking.js";
import { describedEfforts } from "./wire/described-efforts.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export type { CallLimits } from "./wire/call-limits.js";
export type { HttpModelOptions } from "./wire/http-model.js";
export type { ApiKey } from "./wire/endpoint.js";
export { geminiEfforts, type GeminiGeneration, type GeminiThinking } from "./gemini/gemini-thinking.js";

/** How to reach a server that speaks `generateContent`, and which of its models answers. */
export type GeminiOptions = HttpModelOptions & {
  /** As in `gemini-3-flash-preview`; with a slash in it, a resource name such as `tunedModels/mine`. */
  readonly model: string;
  /** Default `https://generativelanguage.googleapis.com/v1beta`. Its query is kept. */
  readonly baseUrl?: string | undefined;
  /** Default `"gemini"`. Replies stored under another name do not get their thoughts and signatures back. */
  readonly provider?: string | undefined;
  /** Which form of the wire the model speaks, where its name does not tell. */
  readonly generation?: GeminiGeneration | undefined;
  /** Thinking for efforts where the model's differs from `geminiEfforts`. */
  readonly efforts?: Readonly<Partial<Record<ReasoningEffort, GeminiThinking>>> | undefined;
  /** Whether thoughts come as text; default where an effort other than `off` is asked for. */
  readonly includeThoughts?: boolean | undefined;
};

const OPTION_NAMES = [
  ...HTTP_OPTION_NAMES,
  "generation",
  "efforts",
  "includeThoughts",
] as const satisfies readonly (keyof GeminiOptions)[];

const WORDS = { generation: [2, 3] satisfies readonly GeminiGeneration[], includeThoughts: [true, false] };

/**
 * Gemini through `generateContent`. Efforts map to `thinkingLevel` from Gemini 3 on (off and minimal the lowest, low, medium, high; xhigh
 * and maximum the highest) and to `thinkingBudget` before (0, 512, 2048, 8192, 16384, 24576, the most the model takes). Thought signatures
 * go back on the part they came with; where the provider refuses one, or an older picture or file, the request is made once more without. The key is sent as the
 * header `x-goog-api-key`, never in the address. `parallelToolCalls` has no field on this wire.
 */
export class GeminiModel implements ModelPort {
  readonly #options: GeminiOptions;
  readonly #http: HttpModel;
  readonly #provider: string;

  /** Makes no request. Throws `CompositionError("invalid-config")` for a base URL that is none, an option that is unknown or makes no sense, or no model name. */
  constructor(options: GeminiOptions) {
    checkHttpOptions("GeminiModel", options, { known: OPTION_NAMES, words: WORDS });
    this.#options = options;
    this.#provider = options.provider ?? "gemini";
    this.#endpoint(options.model, { stream: false });
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
    const { model, generation = generationOf(model), efforts } = this.#options;
    const thinking: Readonly<Partial<Record<ReasoningEffort, GeminiThinking>>> = {
      ...geminiEfforts(model, generation),
      ...efforts,
    };
    return {
      provider: this.#provider,
      model,
      contextWindow: this.#options.contextWindow,
      efforts: describedEfforts((effort) => thinking[effort] !== undefined),
      input: ["text", "image", "file"],
    };
  }

  #prepare({ request, replays }: Asked, { stream }: { readonly stream: boolean }): WireCall {
    const tools = sendableTools(request.tools);
    const names = new WireNames(
      tools.map(({ name }) => name),
      { first: "letter" },
    );
    const model = request.options.model ?? this.#options.model;
    const context = {
      names,
      model,
      replays,
      provider: this.#provider,
      generation: this.#options.generation ?? generationOf(model),
      efforts: this.#options.efforts ?? {},
      includeThoughts: this.#options.includeThoughts,
    };
    return {
      endpoint: this.#endpoint(model, { stream }),
      body: () => geminiBody(request, context),
      decoder: (emit) => new GeminiDecoder(emit),
      names,
      tools,
    };
  }

  /** The model's name is a part of the address, and never more than that. */
  #endpoint(model: string, { stream }: { readonly stream: boolean }): Endpoint {
    const { baseUrl = "https://generativelanguage.googleapis.com/v1beta", apiKey, headers, fetch } = this.#options;
    const segments = (model.includes("/") ? model : `models/${model}`).split("/");
    if (segments.some((segment) => /^\.{0,2}$/.test(segment))) {
      throw new CompositionError("invalid-config", "the name of the model is none");
    }
    const path = `/${segments.map(encodeURIComponent).join("/")}:${stream ? "streamGenerateContent" : "generateContent"}`;
    const query = stream ? { alt: "sse" } : {};
    return new Endpoint({ baseUrl, path, query, apiKey, keyHeader: "x-goog-api-key", headers, fetch });
  }
}
