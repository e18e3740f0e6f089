import { copyJson } from "../../domain/adopt.js";
import { ModelError } from "../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { ModelResponse } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { errorFromJson } from "../error-json.js";
import { never, untilAborted } from "../fakes/until-aborted.js";
import { RecordedCalls, recordedDifference } from "./recorded-calls.js";
import type { NumberedLine } from "./recording-file.js";
import type { RecordedEnd, RecordedModelLine, RecordingHead } from "./recording-line.js";
import type { ReplayOptions } from "./replay-options.js";
import type { Scrubber } from "./scrubber.js";

/** What replays share. `drifted` is told of a drift before it is thrown. */
export type ReplayParts = Pick<ReplayOptions, "pace"> & {
  readonly scrubber: Scrubber;
  readonly drifted: (error: unknown) => unknown;
  /** Told of each call that is answered. */
  readonly onUse: () => void;
};

/** Answers model calls. Calls that ask for the same are answered in the order in which they were made. */
export class ModelReplay {
  readonly calls: RecordedCalls<RecordedModelLine>;
  readonly #parts: ReplayParts & Pick<ReplayOptions, "normalise">;
  #asked = 0;

  constructor(
    lines: readonly (NumberedLine & { readonly line: RecordedModelLine })[],
    parts: ReplayParts & Pick<ReplayOptions, "normalise">,
  ) {
    const inOrder = [...lines].sort((a, b) => a.line.call - b.line.call);
    this.calls = new RecordedCalls(inOrder, ({ call, round }) => `model call ${call} of round ${round}`, parts.onUse);
    this.#parts = parts;
  }

  port(head: RecordingHead["model"]): ModelPort {
    const description = head?.description as unknown as ModelDescription | undefined;
    return {
      chat: (request) => this.#answer(request, undefined),
      ...(head?.streaming === false
        ? undefined
        : { chatStreaming: (request: ChatRequest, onChunk: ChunkListener) => this.#answer(request, onChunk) }),
      ...(description === undefined ? undefined : { describe: () => description }),
    };
  }

  async #answer(request: ChatRequest, onChunk: ChunkListener | undefined): Promise<ModelResponse> {
    const { chunks, end } = this.#find(request);
    const aborted = (): ModelError => new ModelError("aborted", "the signal was aborted");
    const pace = new Pacing(this.#parts.pace, request.signal, aborted);
    for (const [ms, chunk] of onChunk === undefined ? [] : chunks) {
      if (pace.isAhead(ms)) await pace.reach(ms);
      if (request.signal.aborted) throw aborted();
      onChunk?.(chunk);
    }
    await pace.reach(end.ms);
    if (request.signal.aborted) throw aborted();
    return settled(end, () => untilAborted(request.signal, never, aborted)) as Promise<ModelResponse>;
  }

  #find({ messages, tools, options, requestContext, round }: ChatRequest): RecordedModelLine {
    const { scrubber, normalise = (request) => request, drifted } = this.#parts;
    const given = scrubber.json(copyJson({ messages, tools, options, requestContext }, "request")) as JsonObject;
    const asked = withoutIds(normalise(given));
    try {
      const same = ({ request: recorded }: RecordedModelLine): string | undefined =>
        recordedDifference(withoutIds(normalise(recorded)), asked);
      return this.calls.take(`model call ${this.#asked++} of round ${round}`, same).line;
    } catch (error) {
      throw drifted(error);
    }
  }
}

/** Ids and times of messages are made anew in every run. */
function withoutIds(request: JsonObject): Json {
  const { messages, ...rest } = request;
  if (!Array.isArray(messages)) return request;
  const bare = (messages as readonly Json[]).map((message) => {
    if (!isJsonObject(message)) return message;
    const { id: _id, at: _at, ...fields } = message;
    return fields;
  });
  return { ...rest, messages: bare };
}

/** Lets the time of a recorded call pass, where somebody wants that; an abort ends the waiting. */
export class Pacing {
  readonly #clock: ReplayOptions["pace"];
  readonly #signal: AbortSignal;
  readonly #aborted: () => Error;
  #at = 0;

  constructor(clock: ReplayOptions["pace"], signal: AbortSignal, aborted: () => Error) {
    this.#clock = clock;
    this.#signal = signal;
    this.#aborted = aborted;
  }

  /** Whether there is anything to wait for: what came at once comes at once. */
  isAhead(ms: number): boolean {
    return this.#clock !== undefined && ms > this.#at;
  }

  async reach(ms: number): Promise<void> {
    if (this.#clock === undefined || ms <= this.#at) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(ms - this.#at, resolve);
    await untilAborted(this.#signal, promise, this.#aborted).finally(cancel);
    this.#at = ms;
  }
}

/** What a recorded call came to; `open` for one that had not ended. */
export async function settled(end: RecordedEnd, open: () => Promise<unknown>): Promise<unknown> {
  if (end.open === true) return open();
  if (end.error !== undefined) throw errorFromJson(end.error);
  return end.value;
}
