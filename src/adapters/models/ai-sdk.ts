import { CompositionError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { ModelResponse, ReasoningEffort } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { checkOptions } from "./common/check-options.js";
import { type AiSdkCall, type AiSdkPort, callAiSdk } from "./ai-sdk/ai-sdk-call.js";
import { callOptions } from "./ai-sdk/ai-sdk-request.js";
import type { LanguageModelV3, LanguageModelV4 } from "./ai-sdk/ai-sdk-types.js";
import { toV3 } from "./ai-sdk/ai-sdk-v3.js";
import { callLimits, type CallLimits } from "./wire/call-limits.js";
import { type Asked, callHealing } from "./wire/healed-call.js";
import { describedEfforts } from "./wire/described-efforts.js";
import { ModelFailure } from "./wire/model-failure.js";
import { prepared } from "./wire/prepared.js";
import { idHealer } from "./wire/refused-ids.js";
import { mediaHealer } from "./wire/refused-media.js";
import { hasReplay, replayHealer } from "./wire/refused-replay.js";
import { givenHeaders } from "./wire/given-headers.js";
import { secretsOfHeaders } from "./wire/secrets.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export { toLanguageModel, type ToLanguageModelOptions } from "./ai-sdk/ai-sdk-language-model.js";
export { AI_SDK_EFFORTS } from "./ai-sdk/ai-sdk-request.js";
export type { LanguageModelV3, LanguageModelV4 } from "./ai-sdk/ai-sdk-types.js";

/** A model of the AI SDK, of spec v3 or v4. */
export type AiSdkLanguageModel = LanguageModelV3 | LanguageModelV4;

/** Which model of the AI SDK is driven, and what it is told beside the request. */
export type AiSdkOptions = Partial<Pick<CallLimits, "timeoutMs" | "idleTimeoutMs" | "runtime">> & {
  readonly model: AiSdkLanguageModel;
  /** Asked where a request names another model; without it such a request fails. */
  readonly modelOf?: ((id: string) => AiSdkLanguageModel) | undefined;
  /** Default `ai-sdk/` and what the model calls its provider. Replies stored under another name do not get their reasoning back. */
  readonly provider?: string | undefined;
  /** Added to every request, where the model's provider has headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** By the name of the provider, as in `{anthropic: {...}}`; a request's own are added field by field. */
  readonly providerOptions?: JsonObject | undefined;
  /** Provider options that stand for an effort: the only way to tell a model of spec v3. */
  readonly efforts?: Readonly<Partial<Record<ReasoningEffort, JsonObject>>> | undefined;
  /** Tokens; only reported by `describe`. */
  readonly contextWindow?: number | undefined;
};

const OPTION_NAMES = [
  "model",
  "modelOf",
  "provider",
  "headers",
  "providerOptions",
  "efforts",
  "contextWindow",
  "timeoutMs",
  "idleTimeoutMs",
  "runtime",
] as const satisfies readonly (keyof AiSdkOptions)[];

const NUMBERS = { timeoutMs: 0, idleTimeoutMs: 0, contextWindow: 1 };

type How = { readonly stream: boolean; readonly onChunk: ChunkListener };

/**
 * Any model of any AI SDK provider; keys, addresses and `fetch` are the provider's. Efforts map to the spec's words (v4): off `none`,
 * minimal to xhigh by their own names, maximum `max`. Provider metadata of a part goes back with it; where the provider
 * refuses a piece of it, or an older picture or file, the call is made once more without. Nothing of the AI SDK is loaded.
 */
export class AiSdkModel implements ModelPort {
  readonly #options: AiSdkOptions;
  readonly #provider: string;

  /** Makes no request. Throws `CompositionError("invalid-config")` for an unknown option, or a model of another spec. */
  constructor(options: AiSdkOptions) {
    checkOptions("AiSdkModel", options, OPTION_NAMES, NUMBERS);
    if (!isKnown(options.model))
      throw new CompositionError("invalid-config", "AiSdkModel needs a model of spec v3 or v4");
    this.#options = options;
    this.#provider = options.provider ?? `ai-sdk/${options.model.provider}`;
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.#call(request, { stream: false, onChunk: () => undefined });
  }

  chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#call(request, { stream: true, onChunk });
  }

  describe(): ModelDescription {
    const { model, efforts = {} } = this.#options;
    return {
      provider: this.#provider,
      model: model.modelId,
      contextWindow: this.#options.contextWindow,
      efforts: describedEfforts((effort) => isTold(model, efforts[effort])),
      input: ["text", "image", "file"],
    };
  }

  async #call(request: ChatRequest, how: How): Promise<ModelResponse> {
    const replay = replayHealer((asked) => hasReplay(asked, this.#provider));
    const send = (asked: Asked): Promise<ModelResponse> =>
      callAiSdk(prepared(this.#provider, () => this.#prepare(asked, how)));
    return await callHealing({ request, replays: true }, send, [mediaHealer, idHealer, replay]);
  }

  #prepare({ request, replays }: Asked, { stream, onChunk }: How): AiSdkCall {
    const { headers, providerOptions, efforts = {} } = this.#options;
    const tools = sendableTools(request.tools).map(({ name }) => name);
    const names = new WireNames(tools, { first: "letter" });
    const port = (): AiSdkLanguageModel => this.#modelFor(request);
    return {
      port: portOf(port),
      provider: this.#provider,
      limits: callLimits(this.#options),
      signal: request.signal,
      names,
      toolNames: tools.map((name) => names.toWire(name)),
      secrets: secretsOfHeaders(givenHeaders(headers)),
      stream,
      encode: (signal) =>
        callOptions(request, { names, provider: this.#provider, replays, signal, headers, providerOptions, efforts }),
      onChunk,
    };
  }

  #modelFor({ options }: ChatRequest): AiSdkLanguageModel {
    const { model, modelOf } = this.#options;
    if (options.model === undefined || options.model === model.modelId) return model;
    if (modelOf === undefined) throw new ModelFailure("request-build", "this adapter has one model, and no modelOf");
    const found: unknown = modelOf(options.model);
    if (isKnown(found)) return found;
    throw new ModelFailure("request-build", "modelOf has no model of spec v3 or v4 for the name that was asked for");
  }
}

function isKnown(model: unknown): model is AiSdkLanguageModel {
  if (typeof model !== "object" || model === null) return false;
  const version: unknown = Reflect.get(model, "specificationVersion");
  return version === "v3" || version === "v4";
}

/** Spec v3 has no word for an effort. */
function isTold(model: AiSdkLanguageModel, own: JsonObject | undefined): boolean {
  return model.specificationVersion === "v4" || own !== undefined;
}

/** Calls go to the model found when they are made: a failure to find one is a failure of the call. */
function portOf(find: () => AiSdkLanguageModel): AiSdkPort {
  return {
    doGenerate: (options) => {
      const model = find();
      return model.specificationVersion === "v3" ? model.doGenerate(toV3(options)) : model.doGenerate(options);
    },
    doStream: (options) => {
      const model = find();
      return model.specificationVersion === "v3" ? model.doStream(toV3(options)) : model.doStream(options);
    },
  };
}
