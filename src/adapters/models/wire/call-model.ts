import { ModelError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import { StreamAccumulator } from "../../../domain/stream.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ChunkListener } from "../../../ports/model.js";
import { isProgress } from "../common/is-progress.js";
import type { CallLimits } from "./call-limits.js";
import type { Endpoint } from "./endpoint.js";
import { readErrorBody } from "./error-body.js";
import { httpFailure } from "./http-errors.js";
import type { JsonEvents } from "./json-events.js";
import type { ModelFailure } from "./model-failure.js";
import { ListenerGuard } from "./listener-guard.js";
import { prepared } from "./prepared.js";
import { readText } from "./read-text.js";
import { ownResponse, withOwnName } from "./own-names.js";
import { ReplyBody } from "./reply-body.js";
import { RequestWatch } from "./request-watch.js";
import { type FailedCall, toModelError } from "./to-model-error.js";
import type { WireNames } from "./wire-names.js";

/** Reads a provider's body into chunks; throws `ModelFailure`. */
export type ReplyDecoder = {
  /** Reads the body, and hands its events to the decoder. */
  readonly events: JsonEvents;
  /** The reply is whole, even if the connection should break now. */
  readonly finished: boolean;
  readonly model: string | undefined;
  /** Emits the finish, or fails where the reply is not whole. */
  end(): void;
};

/** One model call over HTTP. `toolNames` are the names of the tools sent, as sent and in that order. */
export type ModelCall = {
  readonly endpoint: Endpoint;
  readonly provider: string;
  readonly limits: CallLimits;
  readonly signal: AbortSignal;
  readonly accept: string;
  readonly encode: () => string;
  readonly decoder: (emit: (chunk: StreamChunk) => void) => ReplyDecoder;
  readonly names: WireNames;
  readonly toolNames: readonly string[];
  readonly onChunk: ChunkListener;
};

/** Silence after which a reply that is whole counts as over although the server keeps the connection open. */
const SETTLE_MS = 5_000;
/** The same after the wire's own end marker, where only the end of the body is missing. */
const DRAIN_MS = 100;

/**
 * Makes a model call. Rejects with `ModelError` only (or with what the listener throws), promptly after an abort, with what had come as `partial`; no listener, timer or
 * connection is left when it settles. What comes in counts as progress only when it is a piece of the reply.
 */
export async function callModel(call: ModelCall): Promise<ModelResponse> {
  const watch = new RequestWatch(call.signal, call.limits.runtime);
  const accumulator = new StreamAccumulator();
  const listener = new ListenerGuard(call.onChunk);
  let secrets: readonly string[] = [];
  let headers: Headers | undefined;
  try {
    watch.check();
    const body = prepared(call.provider, call.encode);
    watch.expect(call.limits.timeoutMs, "answer");
    const response = await call.endpoint.post(body, call.accept, watch, (found) => {
      secrets = found;
    });
    headers = response.headers;
    if (!response.ok) throw await refusal(response, watch);
    const decoder = await readReply(call, response, watch, (chunk) => {
      accumulator.push(chunk);
      listener.take(chunk);
    });
    return ownResponse(accumulator, call.names, { provider: call.provider, model: decoder.model });
  } catch (error) {
    listener.check();
    throw failureOf(error, call, () => ({ ...call, secrets, headers, soFar: accumulator.partial() }));
  } finally {
    watch.close();
  }
}

/** The outermost guard: also a failure that cannot be described leaves as a `ModelError`. */
function failureOf(error: unknown, { provider }: ModelCall, about: () => FailedCall): Error {
  try {
    return toModelError(error, about());
  } catch {
    return new ModelError("response-parse", "the reply could not be read", { provider });
  }
}

async function readReply(
  call: ModelCall,
  response: Response,
  watch: RequestWatch,
  take: ChunkListener,
): Promise<ReplyDecoder> {
  const { limits, names } = call;
  const decoder = call.decoder((chunk) => {
    if (isProgress(chunk)) watch.progress();
    take(withOwnName(chunk, names));
  });
  const body = new ReplyBody(decoder.events, limits.maxLineBytes);
  watch.expect(limits.idleTimeoutMs, "piece of the reply");
  let state: "open" | "finished" | "done" = "open";
  await readText(response, watch, limits.maxBodyBytes, (text) => {
    if (state === "done") return;
    body.feed(text);
    if (body.isDocument) watch.progress();
    if (state === "open" && (decoder.finished || decoder.events.isBroken)) {
      state = "finished";
      watch.settle(SETTLE_MS);
    }
    if (state === "finished" && decoder.events.done) {
      state = "done";
      watch.settle(DRAIN_MS);
    }
  });
  decoder.events.ending();
  if (!decoder.events.done) body.end();
  decoder.end();
  return decoder;
}

/** The failure an error status stands for. */
async function refusal(response: Response, watch: RequestWatch): Promise<ModelFailure> {
  const body = await readErrorBody(response, watch);
  return httpFailure(response.status, response.headers, body, Date.now());
}
