import { ModelError } from "../../domain/errors.js";
import type { ModelResponse } from "../../domain/model.js";
import { StreamAccumulator } from "../../domain/stream.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ChunkListener } from "../../ports/model.js";
import type { ModelStep, Pace } from "./model-step.js";
import { never, untilAborted } from "./until-aborted.js";

/** What is handed over in one call, and how much of it has been. */
export type Delivery = { readonly script: readonly StreamChunk[]; delivered: number };

/**
 * Plays one step: counts each chunk as it is handed over, and settles with `ModelError("aborted")`, which holds what was handed over, as
 * soon as the signal fires.
 */
export async function playModelStep(
  step: ModelStep,
  call: Delivery,
  signal: AbortSignal,
  onChunk: ChunkListener | undefined,
): Promise<ModelResponse> {
  const pace = step.kind === "stream" ? step.pace : undefined;
  const aborted = (): ModelError => abortedAfter(call.script.slice(0, call.delivered));
  if (onChunk !== undefined && pace !== undefined) await deliverPaced(call, { signal, aborted }, onChunk, pace);
  else if (onChunk !== undefined) deliver(call, { signal, aborted }, onChunk);
  if (signal.aborted) throw aborted();
  switch (step.kind) {
    case "respond":
      return isPromise(step.response) ? untilAborted(signal, step.response, aborted) : step.response;
    case "stream":
      return step.response ?? accumulate(step.chunks);
    case "fail":
      throw step.error;
    case "hang":
      return untilAborted(signal, never, aborted);
  }
}

function deliver(call: Delivery, { signal, aborted }: Stop, onChunk: ChunkListener): void {
  // Asking a signal for every chunk would be most of the cost of a stream.
  let stopped = signal.aborted;
  const onAbort = (): void => {
    stopped = true;
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (const chunk of call.script) {
      if (stopped) throw aborted();
      call.delivered += 1;
      onChunk(chunk);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function deliverPaced(
  call: Delivery,
  { signal, aborted }: Stop,
  onChunk: ChunkListener,
  pace: Pace,
): Promise<void> {
  for (const chunk of call.script) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = pace.runtime.after(pace.everyMs, resolve);
    await untilAborted(signal, promise, aborted).finally(cancel);
    call.delivered += 1;
    onChunk(chunk);
  }
}

type Stop = { readonly signal: AbortSignal; readonly aborted: () => ModelError };

function accumulate(chunks: readonly StreamChunk[]): ModelResponse {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.toResponse({ malformed: "mark" });
}

function abortedAfter(chunks: readonly StreamChunk[]): ModelError {
  if (chunks.length === 0) return new ModelError("aborted", "the signal was aborted");
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  const { parts, usage } = accumulator.partial();
  return new ModelError("aborted", "the signal was aborted", { partial: parts, usage });
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value;
}
