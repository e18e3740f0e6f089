import { ModelError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../ports/model.js";
import { type IncomingCall, incomingCall } from "./ai-sdk-incoming.js";
import { prepared } from "../wire/prepared.js";
import { contentOf, finishOf, OutgoingStream, usageOf } from "./ai-sdk-outgoing.js";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "./ai-sdk-types.js";

/** What the SDK is told of the model; default what the port says of itself. */
export type ToLanguageModelOptions = {
  readonly provider?: string | undefined;
  readonly modelId?: string | undefined;
};

/**
 * A model port as a language model of the AI SDK (spec v4). What the port keeps with a part (signatures, encrypted reasoning) travels as
 * provider metadata under `ennead` and comes back from the SDK's messages. A `ModelError` becomes what the SDK knows as a failed API call,
 * with its own word for whether it may be retried. The port is called once a call, and its signal aborted when the SDK's is or when the
 * stream is cancelled.
 */
export function toLanguageModel(port: ModelPort, options: ToLanguageModelOptions = {}): LanguageModelV4 {
  const described = port.describe?.();
  return {
    specificationVersion: "v4",
    provider: options.provider ?? described?.provider ?? "ennead",
    modelId: options.modelId ?? described?.model ?? "unknown",
    supportedUrls: { "*/*": [/^(?:https?|gs):\/\//] },
    doGenerate: (call) => generate(port, call),
    doStream: (call) => stream(port, call),
  };
}

async function generate(port: ModelPort, call: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  const linked = new LinkedAbort(call.abortSignal);
  try {
    const { request, warnings } = prepared("ai-sdk", () => incomingCall(call, linked.signal));
    const response = await port.chat(request);
    return {
      content: contentOf(response),
      finishReason: finishOf(response),
      usage: usageOf(response.usage),
      warnings: [...warnings],
      ...(response.model === undefined ? undefined : { response: { modelId: response.model } }),
    };
  } catch (error) {
    throw outgoingError(error, call.abortSignal);
  } finally {
    linked.close();
  }
}

/** Resolves with the first chunk, so that a call that fails before it can be repeated by the SDK. */
async function stream(port: ModelPort, call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
  const linked = new LinkedAbort(call.abortSignal);
  const { request, warnings } = begun(call, linked);
  const waiting: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [...warnings] }];
  let send = (part: LanguageModelV4StreamPart): void => void waiting.push(part);
  const outgoing = new OutgoingStream((part) => send(part));
  const began = Promise.withResolvers<"began">();
  let fault: { readonly error: unknown } | undefined;
  const onChunk = (chunk: StreamChunk): void => {
    if (fault !== undefined) return;
    try {
      outgoing.chunk(chunk);
      if (chunk.type !== "reset") began.resolve("began");
    } catch (error) {
      fault = { error };
      linked.abort();
    }
  };
  const ended = answer(port, request, onChunk)
    .then((response) => {
      if (fault !== undefined) throw fault.error;
      outgoing.end(response);
    })
    .finally(() => linked.close());
  try {
    await Promise.race([began.promise, ended]);
  } catch (error) {
    throw outgoingError(fault?.error ?? error, call.abortSignal);
  }
  const body = new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of waiting) controller.enqueue(part);
      send = (part) => controller.enqueue(part);
      const close = (): void => controller.close();
      const fail = (error: unknown): void => {
        const known = outgoingError(fault?.error ?? error, call.abortSignal);
        if (isAborted(error) && fault === undefined) return controller.error(known);
        controller.enqueue({ type: "error", error: known });
        controller.close();
      };
      // A cancelled stream takes nothing more.
      void ended.then(close, fail).catch(() => undefined);
    },
    cancel() {
      send = () => undefined;
      linked.abort();
    },
  });
  return { stream: body };
}

/** The request of a call; where there is none, nothing is left of the call. */
function begun(call: LanguageModelV4CallOptions, linked: LinkedAbort): IncomingCall {
  try {
    return prepared("ai-sdk", () => incomingCall(call, linked.signal));
  } catch (error) {
    linked.close();
    throw outgoingError(error, call.abortSignal);
  }
}

async function answer(port: ModelPort, request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
  return await (port.chatStreaming?.(request, onChunk) ?? port.chat(request));
}

/** A signal of our own behind the caller's, which keeps no listener once closed. */
class LinkedAbort {
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted === true) this.abort();
    else caller?.addEventListener("abort", this.abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly abort = (): void => this.#controller.abort();

  close(): void {
    this.#caller?.removeEventListener("abort", this.abort);
  }
}

/** The error the SDK knows: its abort, or a failed call that says whether it may be retried. Anything else is a mistake and passes. */
function outgoingError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (!(error instanceof ModelError)) return error;
  if (isAborted(error)) return (signal?.reason as unknown) ?? new DOMException(error.message, "AbortError");
  return new FailedCall(error);
}

function isAborted(error: unknown): boolean {
  return error instanceof ModelError && error.kind === "aborted";
}

const MARKERS = ["vercel.ai.error", "vercel.ai.error.AI_APICallError"];

/** Recognised by every copy of the AI SDK through its markers, without loading it. The cause is the `ModelError`. */
class FailedCall extends Error {
  readonly url = "";
  readonly requestBodyValues = {};
  readonly statusCode: number | undefined;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly isRetryable: boolean;

  constructor(error: ModelError) {
    super(error.message, { cause: error });
    this.name = "AI_APICallError";
    for (const marker of MARKERS) Object.defineProperty(this, Symbol.for(marker), { value: true });
    this.statusCode = error.status;
    this.responseHeaders = error.retryAfterMs === undefined ? {} : { "retry-after-ms": String(error.retryAfterMs) };
    this.isRetryable = error.retryable;
  }
}
