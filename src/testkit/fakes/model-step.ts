import type { ModelError } from "../../domain/errors.js";
import type { ModelResponse } from "../../domain/model.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { Runtime } from "../../ports/runtime.js";

/** Leaves `everyMs` of a runtime's time between chunks; without a pace all chunks come at once. */
export type Pace = { readonly runtime: Pick<Runtime, "after">; readonly everyMs: number };

/** What a scripted model does at one call. Chunks are handed over only by `chatStreaming`, and only these: none is ever made up. */
export type ModelStep =
  | { readonly kind: "respond"; readonly response: Awaitable<ModelResponse> }
  | {
      readonly kind: "stream";
      readonly chunks: readonly StreamChunk[];
      readonly response?: ModelResponse | undefined;
      readonly pace?: Pace | undefined;
    }
  | { readonly kind: "fail"; readonly error: ModelError; readonly chunks: readonly StreamChunk[] }
  | { readonly kind: "hang"; readonly chunks: readonly StreamChunk[] };

/** The steps of a `ScriptedModel`. */
export const modelStep = {
  /** Resolves with `response` and hands over no chunk. A promise lets the test choose the moment. */
  respond(response: Awaitable<ModelResponse>): ModelStep {
    return { kind: "respond", response };
  },
  /** Hands over these chunks, then resolves with `response`; without one, with what the chunks add up to. */
  stream(chunks: readonly StreamChunk[], response?: ModelResponse, pace?: Pace): ModelStep {
    return { kind: "stream", chunks: Object.freeze([...chunks]), response, pace };
  },
  /** Hands over these chunks (default none), then rejects. */
  fail(error: ModelError, chunks: readonly StreamChunk[] = []): ModelStep {
    return { kind: "fail", error, chunks: Object.freeze([...chunks]) };
  },
  /** Hands over these chunks (default none), then waits for the abort and rejects with `ModelError("aborted")`. */
  hang(chunks: readonly StreamChunk[] = []): ModelStep {
    return { kind: "hang", chunks: Object.freeze([...chunks]) };
  },
};
