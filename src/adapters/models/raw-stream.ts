import { CompositionError, Defect, ModelError } from "../../domain/errors.js";
import type { ReasoningEffort, ModelResponse } from "../../domain/model.js";
import { StreamAccumulator } from "../../domain/stream.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { checkOptions } from "./common/check-options.js";
import { callLimits, type CallLimits } from "./wire/call-limits.js";
import type { ChatCompletionChunk } from "./raw-stream/openai-chat-wire.js";
import { ownResponse, withOwnName } from "./wire/own-names.js";
import { ListenerGuard } from "./wire/listener-guard.js";
import { prepared } from "./wire/prepared.js";
import { RawChunks } from "./raw-stream/raw-chunks.js";
import { abandon, eachOf } from "./raw-stream/raw-iteration.js";
import { RequestWatch } from "./wire/request-watch.js";
import { thrownFailure } from "./raw-stream/thrown-failure.js";
import { toModelError } from "./wire/to-model-error.js";
import { keysIn, withoutUnknownKeys } from "./wire/unknown-keys.js";
import { WireNames } from "./wire/wire-names.js";
import { sendableTools } from "./wire/wire-schema.js";

export { chatCompletionBody, type ChatCompletionBodyOptions } from "./raw-stream/openai-chat-body.js";
export type {
  ChatCompletionCall,
  ChatCompletionChoice,
  ChatCompletionChunk,
  ChatCompletionDelta,
  ChatCompletionUsage,
} from "./raw-stream/openai-chat-wire.js";

/** What a stream of the application yields: chunks as chat-completions servers send them, or Ennead's own, in any mixture. */
export type RawChunk = ChatCompletionChunk | StreamChunk;

/** Makes one model call by whatever means; `signal` is aborted when nobody wants the rest any more. */
export type RawStream = (request: ChatRequest, signal: AbortSignal) => Awaitable<AsyncIterable<RawChunk>>;

/** What a model says of itself, and how long its stream may be silent (milliseconds; five minutes each by default). */
export type RawStreamOptions = Partial<Pick<CallLimits, "timeoutMs" | "idleTimeoutMs" | "runtime">> & {
  readonly model: string;
  /** Default `"raw-stream"`. Replies stored under another name do not get their reasoning back. */
  readonly provider?: string | undefined;
  readonly contextWindow?: number | undefined;
  /** Only reported by `describe`, as the model knows them. */
  readonly knownEfforts?: readonly ReasoningEffort[] | undefined;
  readonly input?: ModelDescription["input"];
};

const OPTION_NAMES = [
  "model",
  "provider",
  "contextWindow",
  "knownEfforts",
  "input",
  "timeoutMs",
  "idleTimeoutMs",
  "runtime",
] as const satisfies readonly (keyof RawStreamOptions)[];

const NUMBERS = { timeoutMs: 0, idleTimeoutMs: 0, contextWindow: 1 };

/** Silence after which a reply that has its finish counts as over although its stream does not end. */
const SETTLE_MS = 5_000;

/**
 * A model whose address, keys and transport the application owns: it gives the function that makes a call, and gets a port that keeps
 * all promises of one. The stream may ignore the abort, throw anything at any time, end too early or never: the call settles, as a whole
 * reply or with `ModelError`, and the stream is told to close without being waited for. Tools that went out under another name
 * (`chatCompletionBody`) come back under their own.
 */
export function streamModel(stream: RawStream, options: RawStreamOptions): ModelPort {
  return new StreamModel(stream, options);
}

class StreamModel implements ModelPort {
  readonly #stream: RawStream;
  readonly #options: RawStreamOptions;
  readonly #provider: string;

  constructor(stream: RawStream, options: RawStreamOptions) {
    checkOptions("streamModel", options, OPTION_NAMES, NUMBERS);
    if (typeof stream !== "function" || typeof options.model !== "string" || options.model === "") {
      throw new CompositionError("invalid-config", "streamModel needs a function and the name of a model");
    }
    this.#stream = stream;
    this.#options = options;
    this.#provider = options.provider ?? "raw-stream";
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.chatStreaming(request, () => undefined);
  }

  async chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    const tools = prepared(this.#provider, () => sendableTools(request.tools).map(({ name }) => name));
    const names = new WireNames(tools);
    const sent = tools.map((name) => names.toWire(name));
    const accumulator = new StreamAccumulator();
    const listener = new ListenerGuard(onChunk);
    const watch = new RequestWatch(request.signal, callLimits(this.#options).runtime);
    const chunks = new RawChunks((chunk) => {
      const own = withOwnName(chunk, names);
      if (!watch.settled) watch.progress();
      accumulator.push(own);
      listener.take(own);
    });
    try {
      await this.#read(request, watch, chunks);
      return ownResponse(accumulator, names, { provider: this.#provider, model: chunks.model });
    } catch (error) {
      listener.check();
      if (error instanceof ModelError || Defect.is(error)) throw error;
      const failure = withoutUnknownKeys(thrownFailure(error));
      throw toModelError(failure, {
        provider: this.#provider,
        names,
        toolNames: sent,
        secrets: keysIn(failure.details.quote ?? "").filter((key) => !sent.includes(key)),
        headers: undefined,
        soFar: accumulator.partial(),
      });
    } finally {
      watch.close();
    }
  }

  describe(): ModelDescription {
    const { model, contextWindow, knownEfforts: efforts, input } = this.#options;
    return { provider: this.#provider, model, contextWindow, efforts, input };
  }

  async #read(request: ChatRequest, watch: RequestWatch, chunks: RawChunks): Promise<void> {
    const { timeoutMs, idleTimeoutMs } = callLimits(this.#options);
    watch.check();
    watch.expect(timeoutMs, "answer");
    const stream = await watch.guard(async () => {
      const made = await this.#stream(request, watch.signal);
      if (watch.stopped) abandon(made);
      return made;
    });
    watch.expect(idleTimeoutMs, "piece of the reply");
    await eachOf(stream, watch, (chunk) => {
      chunks.take(chunk);
      if (chunks.finished === watch.settled) return;
      if (chunks.finished) watch.settle(SETTLE_MS);
      else watch.expect(idleTimeoutMs, "piece of the reply");
    });
    chunks.end();
  }
}
