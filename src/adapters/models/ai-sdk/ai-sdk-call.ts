import { ModelError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import { StreamAccumulator } from "../../../domain/stream.js";
import type { ChunkListener } from "../../../ports/model.js";
import { AiSdkDecoder } from "./ai-sdk-chunks.js";
import { aiSdkFailure, headersOf } from "./ai-sdk-errors.js";
import type { LanguageModelV4CallOptions } from "./ai-sdk-types.js";
import { Breather } from "../wire/breather.js";
import type { CallLimits } from "../wire/call-limits.js";
import { ownResponse, withOwnName } from "../wire/own-names.js";
import { ListenerGuard } from "../wire/listener-guard.js";
import { ModelFailure } from "../wire/model-failure.js";
import { prepared } from "../wire/prepared.js";
import { RequestWatch } from "../wire/request-watch.js";
import { toModelError } from "../wire/to-model-error.js";
import { keysIn, withoutUnknownKeys } from "../wire/unknown-keys.js";
import type { WireNames } from "../wire/wire-names.js";

/** What is called of a model, whatever its spec. */
export type AiSdkPort = {
  readonly doGenerate: (options: LanguageModelV4CallOptions) => PromiseLike<Reply>;
  readonly doStream: (
    options: LanguageModelV4CallOptions,
  ) => PromiseLike<{ readonly stream: ReadableStream<unknown>; readonly response?: object | undefined }>;
};
type Reply = {
  readonly content: readonly unknown[];
  readonly usage: unknown;
  readonly finishReason: unknown;
  readonly response?: object | undefined;
};

/** One call of a model of the AI SDK. `toolNames` as sent and in that order. */
export type AiSdkCall = {
  readonly port: AiSdkPort;
  readonly provider: string;
  readonly limits: Pick<CallLimits, "timeoutMs" | "idleTimeoutMs" | "runtime">;
  readonly signal: AbortSignal;
  readonly names: WireNames;
  readonly toolNames: readonly string[];
  readonly secrets: readonly string[];
  readonly stream: boolean;
  /** Throws where the request cannot be told in the SDK's words. */
  readonly encode: (signal: AbortSignal) => LanguageModelV4CallOptions;
  readonly onChunk: ChunkListener;
};

/**
 * Makes the call. Rejects with `ModelError` only, promptly after an abort, with what had come as `partial`, whether the model heeds the
 * signal or not; no listener, timer or stream is left when it settles.
 */
export async function callAiSdk(call: AiSdkCall): Promise<ModelResponse> {
  const watch = new RequestWatch(call.signal, call.limits.runtime);
  const accumulator = new StreamAccumulator();
  const listener = new ListenerGuard(call.onChunk);
  const decoder = new AiSdkDecoder((chunk) => {
    const own = withOwnName(chunk, call.names);
    accumulator.push(own);
    if (call.stream) listener.take(own);
  });
  try {
    watch.check();
    const options = prepared(call.provider, () => call.encode(watch.signal));
    watch.expect(call.limits.timeoutMs, "answer");
    if (call.stream) await readStream(call, options, watch, decoder);
    else await readWhole(call, options, watch, decoder);
    return ownResponse(accumulator, call.names, { provider: call.provider, model: decoder.model });
  } catch (error) {
    listener.check();
    throw failureOf(error, call, accumulator, decoder);
  } finally {
    watch.close();
  }
}

/** Silence after which a reply that has its finish counts as over although its stream does not end. */
const SETTLE_MS = 5_000;

async function readWhole(
  { port }: AiSdkCall,
  options: LanguageModelV4CallOptions,
  watch: RequestWatch,
  decoder: AiSdkDecoder,
): Promise<void> {
  const reply = await watch.guard(async () => await port.doGenerate(options));
  decoder.answer(reply.response);
  decoder.part({ type: "response-metadata", ...reply.response });
  reply.content.forEach((part, place) => decoder.content(part, place));
  decoder.finish(reply, { streamed: false });
}

async function readStream(
  { port, limits }: AiSdkCall,
  options: LanguageModelV4CallOptions,
  watch: RequestWatch,
  decoder: AiSdkDecoder,
): Promise<void> {
  const { stream, response } = await watch.guard(async () => {
    const answer = await port.doStream(options);
    // A model that does not heed its signal may answer when nobody reads any more.
    if (watch.stopped) void answer.stream.cancel().catch(() => undefined);
    return answer;
  });
  decoder.answer(response);
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  watch.onStop(cancel);
  watch.expect(limits.idleTimeoutMs, "piece of the reply");
  const breather = new Breather();
  try {
    for (;;) {
      const next = await nextPart(reader, watch);
      if (next === undefined) return;
      const isProgress = decoder.part(next.value);
      if (decoder.finished && !watch.settled) watch.settle(SETTLE_MS);
      else if (isProgress && !watch.settled) watch.progress();
      const pause = breather.step();
      if (pause !== undefined) await pause;
    }
  } catch (error) {
    // What the model says of its own end counts less than what ended it.
    watch.check();
    throw error;
  } finally {
    cancel();
  }
}

/** Undefined at the end, which a break is too once the reply is whole. */
async function nextPart(
  reader: ReadableStreamDefaultReader<unknown>,
  watch: RequestWatch,
): Promise<{ readonly value: unknown } | undefined> {
  try {
    const { done, value } = await reader.read();
    watch.check();
    return done || watch.stopped ? undefined : { value };
  } catch (error) {
    watch.check();
    if (watch.settled) return undefined;
    throw error;
  }
}

function failureOf(error: unknown, call: AiSdkCall, accumulator: StreamAccumulator, decoder: AiSdkDecoder): Error {
  const { provider, names, toolNames } = call;
  try {
    const failure = aiSdkFailure(error);
    const told = failure instanceof ModelFailure ? withoutUnknownKeys(failure) : failure;
    const keys = told instanceof ModelFailure ? keysIn(told.details.quote ?? "") : [];
    const secrets = [...call.secrets, ...keys.filter((key) => !toolNames.includes(key))];
    const headers = headersOf(error) ?? decoder.headers;
    const soFar = accumulator.partial();
    const about = { provider, names, toolNames, secrets, headers, replyId: decoder.responseId, soFar };
    return toModelError(told, about);
  } catch {
    return new ModelError("response-parse", "the reply could not be read", { provider });
  }
}
