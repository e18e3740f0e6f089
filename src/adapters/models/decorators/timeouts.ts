import { Defect, ModelError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { askModel, decoratedModel } from "./decorated-model.js";
import { isProgress } from "../common/is-progress.js";
import { type DecoratorRuntime, HOLD, platformRuntime } from "../common/decorator-runtime.js";
import { detailsOf, modelErrorWith } from "./model-error-with.js";

/** How long a model call may take, in milliseconds; what is absent is not limited. Usage and empty chunks are no token. */
export type TimeoutOptions = {
  /** Until the first chunk of a streamed reply, and again after a reset. */
  readonly firstTokenTimeoutMs?: number | undefined;
  /** Between two chunks of a streamed reply. */
  readonly idleTimeoutMs?: number | undefined;
  /** Until the whole response; the only limit of a call that does not stream. */
  readonly totalTimeoutMs?: number | undefined;
  /** Default: the platform's clock and timers. */
  readonly runtime?: DecoratorRuntime | undefined;
};

const OPTION_NAMES = [
  "firstTokenTimeoutMs",
  "idleTimeoutMs",
  "totalTimeoutMs",
  "runtime",
] as const satisfies readonly (keyof TimeoutOptions)[];

/** How long a model that was told to stop may take to say what it had used. */
const GRACE_MS = 1_000;

/**
 * Ends a call that takes too long with `ModelError("timeout")`, and aborts it: nothing of it passes any more, and the error holds
 * what the aborted call says it had streamed and used. A model that does not stop is left behind after a second, after an abort of the request too; neither timer nor listener is
 * left. Throws `CompositionError("invalid-config")` for options that make no sense.
 */
export function timeouts(model: ModelPort, options: TimeoutOptions): ModelPort {
  checkOptions("timeouts", options, OPTION_NAMES, { firstTokenTimeoutMs: 0, idleTimeoutMs: 0, totalTimeoutMs: 0 });
  return decoratedModel("timeouts", [model], (request, onChunk) => new TimedCall(options).run(model, request, onChunk));
}

type Deadline = { readonly at: number; readonly text: string };

class TimedCall {
  readonly #options: TimeoutOptions;
  readonly #runtime: DecoratorRuntime;
  readonly #controller = new AbortController();
  readonly #start: number;
  /** What is waited for; a call that does not stream is only waited for as a whole. */
  #phase: "whole" | "first" | "idle" = "whole";
  #heard: number;
  #timedOut: ModelError | undefined;
  /** Why nothing of the model passes any more. */
  #ended: ModelError | undefined;
  #cancelTimer = (): void => undefined;
  #giveUp: (error: ModelError) => void = () => undefined;

  constructor(options: TimeoutOptions) {
    this.#options = options;
    this.#runtime = options.runtime ?? platformRuntime;
    this.#start = this.#heard = this.#runtime.elapsed();
  }

  async run(model: ModelPort, request: ChatRequest, onChunk: ChunkListener | undefined): Promise<ModelResponse> {
    const { signal } = request;
    const onAbort = (): void => this.#stop(new ModelError("aborted", "the request was aborted"));
    let live = true;
    const listener = (chunk: StreamChunk): void => {
      if (!live || this.#isOver()) return;
      this.#hear(chunk);
      onChunk?.(chunk);
    };
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort);
      if (onChunk !== undefined) this.#phase = "first";
      this.#arm();
    }
    try {
      return await new Promise((resolve, reject) => {
        this.#giveUp = reject;
        const own = { ...request, signal: this.#controller.signal };
        askModel(model, own, onChunk === undefined ? undefined : listener).then((response) => {
          const { usage, parts: partial } = response;
          if (this.#ended === undefined) resolve(response);
          else reject(modelErrorWith(this.#ended, { usage, partial }));
        }, reject);
      });
    } catch (error) {
      throw this.#verdict(error);
    } finally {
      live = false;
      this.#cancelTimer();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Whether the call has been told to stop; a stream that keeps every timer from ringing is told here. */
  #isOver(): boolean {
    if (this.#ended === undefined) {
      const due = this.#deadline();
      if (due.at < this.#runtime.elapsed()) this.#timeOut(due);
    }
    return this.#ended !== undefined;
  }

  #hear(chunk: StreamChunk): void {
    if (!isProgress(chunk)) return;
    this.#heard = this.#runtime.elapsed();
    const phase = chunk.type === "reset" ? "first" : "idle";
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#arm();
  }

  /** One timer for the deadline that comes first; a chunk moves the deadline, not the timer. */
  #arm(): void {
    this.#cancelTimer();
    const ring = (): void => {
      const due = this.#deadline();
      if (due.at > this.#runtime.elapsed()) return this.#arm();
      this.#timeOut(due);
    };
    const left = this.#deadline().at - this.#runtime.elapsed();
    this.#cancelTimer = this.#runtime.after(Math.max(0, left), ring, HOLD);
  }

  #deadline(): Deadline {
    const { totalTimeoutMs = Infinity, firstTokenTimeoutMs = Infinity, idleTimeoutMs = Infinity } = this.#options;
    const total = { at: this.#start + totalTimeoutMs, text: `no whole reply within ${totalTimeoutMs} ms` };
    if (this.#phase === "whole") return total;
    const first = this.#phase === "first";
    const next = first
      ? { at: this.#heard + firstTokenTimeoutMs, text: `no first token within ${firstTokenTimeoutMs} ms` }
      : { at: this.#heard + idleTimeoutMs, text: `no chunk within ${idleTimeoutMs} ms` };
    return next.at < total.at ? next : total;
  }

  #timeOut({ text }: Deadline): void {
    this.#timedOut = new ModelError("timeout", text);
    this.#stop(this.#timedOut);
  }

  /** Tells the model to stop, and gives it up where it does not; what it still says is of no use to anybody. */
  #stop(error: ModelError): void {
    this.#ended ??= error;
    this.#cancelTimer();
    this.#cancelTimer = this.#runtime.after(GRACE_MS, () => this.#giveUp(error), HOLD);
    this.#controller.abort();
  }

  /** What a model says when it is aborted by us is a timeout; what it says of itself stands. */
  #verdict(error: unknown): unknown {
    const timedOut = this.#timedOut;
    if (timedOut === undefined || error === timedOut || Defect.is(error)) return error;
    if (!(error instanceof ModelError)) return timedOut;
    if (error.kind !== "aborted") return error;
    return modelErrorWith(timedOut, { ...detailsOf(error), retryable: timedOut.retryable, cause: error });
  }
}
