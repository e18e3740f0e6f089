import { CompositionError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { ChatRequest, ChunkListener } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { type CallLimits, callLimits, LEAST_LIMITS, LIMIT_NAMES } from "./call-limits.js";
import { callModel, type ModelCall } from "./call-model.js";
import type { ApiKey } from "./endpoint.js";
import { type Asked, callHealing, type Healer } from "./healed-call.js";
import { prepared } from "./prepared.js";
import { idHealer } from "./refused-ids.js";
import { mediaHealer } from "./refused-media.js";
import { hasReplay, replayHealer } from "./refused-replay.js";
import { encodeJson } from "./wire-json.js";

/** What every model behind HTTP takes. */
export type HttpModelOptions = Partial<CallLimits> & {
  readonly model: string;
  /** A function is asked before every request, so that keys may expire. */
  readonly apiKey?: ApiKey | undefined;
  /** Added to every request; they replace the adapter's own headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Tokens; only reported by `describe`. */
  readonly contextWindow?: number | undefined;
};

/** The names of `HttpModelOptions`, and of the two that each wire has its own words for. */
export const HTTP_OPTION_NAMES = [
  "model",
  "baseUrl",
  "apiKey",
  "headers",
  "fetch",
  "provider",
  "contextWindow",
  ...LIMIT_NAMES,
] as const satisfies readonly (keyof HttpModelOptions | "baseUrl" | "provider")[];

type Checks = {
  readonly known: readonly string[];
  readonly words: Readonly<Record<string, readonly unknown[]>>;
  readonly least?: Readonly<Record<string, number>>;
};

/** Throws `CompositionError("invalid-config")` for an option of `what` that is unknown or makes no sense, or no name of a model. */
export function checkHttpOptions(what: string, options: HttpModelOptions, { known, words, least }: Checks): void {
  checkOptions(what, options, known, { ...LEAST_LIMITS, contextWindow: 1, ...least }, words);
  if (typeof options.model !== "string" || options.model === "") {
    throw new CompositionError("invalid-config", `${what} needs the name of a model`);
  }
}

/** What one wire makes of a request. `tools` are those that are sent, `body` is what becomes the JSON of it. */
export type WireCall = Pick<ModelCall, "endpoint" | "decoder" | "names"> & {
  readonly tools: readonly ToolDef[];
  readonly body: () => object;
};

/** How an adapter makes its calls. */
export type HttpModelWire = {
  readonly provider: string;
  readonly prepare: (asked: Asked, way: { readonly stream: boolean }) => WireCall;
  /** Whether replies go back with what only their provider can read; default true. */
  readonly replays?: boolean | undefined;
  /** Whether a request refused for its reasoning is worth another try without. Default: where it holds any. */
  readonly isWorthHealing?: ((request: ChatRequest) => boolean) | undefined;
  /** Cures of this wire's own, tried before those of all. */
  readonly healers?: readonly Healer[] | undefined;
};

/** Makes the calls of an adapter, once more without what the provider refused of a conversation. */
export class HttpModel {
  readonly #wire: HttpModelWire;
  readonly #limits: CallLimits;

  constructor(wire: HttpModelWire, limits: Parameters<typeof callLimits>[0]) {
    this.#wire = wire;
    this.#limits = callLimits(limits);
  }

  async call(request: ChatRequest, onChunk?: ChunkListener): Promise<ModelResponse> {
    const { provider, replays = true, healers = [] } = this.#wire;
    const { isWorthHealing = (asked) => hasReplay(asked, provider) } = this.#wire;
    const send = (asked: Asked): Promise<ModelResponse> =>
      callModel(prepared(provider, () => this.#prepare(asked, onChunk)));
    const common = [mediaHealer, idHealer, replayHealer(isWorthHealing)];
    return await callHealing({ request, replays }, send, [...healers, ...common]);
  }

  #prepare(asked: Asked, onChunk: ChunkListener | undefined): ModelCall {
    const stream = onChunk !== undefined;
    const { endpoint, decoder, names, tools, body } = this.#wire.prepare(asked, { stream });
    return {
      endpoint,
      decoder,
      names,
      provider: this.#wire.provider,
      limits: this.#limits,
      signal: asked.request.signal,
      accept: stream ? "text/event-stream" : "application/json",
      encode: () => encodeJson(body()),
      toolNames: tools.map(({ name }) => names.toWire(name)),
      onChunk: onChunk ?? (() => undefined),
    };
  }
}
