import { Defect } from "../../domain/errors.js";
import type { ModelResponse } from "../../domain/model.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { frozen } from "./frozen.js";
import { playModelStep } from "./model-player.js";
import { type ModelStep, modelStep } from "./model-step.js";
import { ScriptExhausted } from "./script-exhausted.js";

/** What a model was asked, frozen at the moment of the call; the signal is left out. */
export type RecordedRequest = Omit<ChatRequest, "signal">;

/** One call. `chunks` are the very objects that were handed over so far. */
export type RecordedModelCall = {
  readonly request: RecordedRequest;
  readonly streaming: boolean;
  readonly chunks: readonly StreamChunk[];
  readonly outcome: "running" | "responded" | "failed" | "aborted";
};

type Call = {
  readonly request: RecordedRequest;
  readonly streaming: boolean;
  readonly script: readonly StreamChunk[];
  delivered: number;
  outcome: RecordedModelCall["outcome"];
};

const NO_CHUNKS: readonly StreamChunk[] = Object.freeze([]);

/** A model that plays a script, one step a call, and records what it was asked. It takes no time of its own. */
export class ScriptedModel implements ModelPort {
  readonly #steps: ModelStep[];
  readonly #calls: Call[] = [];
  readonly #description: ModelDescription;
  #overrun: ScriptExhausted | undefined;

  /** A bare response stands for `modelStep.respond(response)`. */
  constructor(steps: readonly (ModelStep | ModelResponse)[] = [], description: Partial<ModelDescription> = {}) {
    this.#steps = steps.map(toStep);
    this.#description = { provider: "scripted", model: "scripted", ...description };
  }

  /** Adds steps to the end of the script, also while it plays. */
  push(...steps: readonly (ModelStep | ModelResponse)[]): void {
    this.#steps.push(...steps.map(toStep));
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.#run(request, undefined);
  }

  chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#run(request, onChunk);
  }

  describe(): ModelDescription {
    return this.#description;
  }

  get callCount(): number {
    return this.#calls.length;
  }

  /** In order of arrival. */
  get calls(): readonly RecordedModelCall[] {
    return this.#calls.map(({ request, streaming, script, delivered, outcome }) =>
      Object.freeze({ request, streaming, chunks: Object.freeze(script.slice(0, delivered)), outcome }),
    );
  }

  get requests(): readonly RecordedRequest[] {
    return this.#calls.map((call) => call.request);
  }

  /** Numbers, from 0, of the calls that an abort ended. */
  get aborts(): readonly number[] {
    return this.#calls.flatMap((call, index) => (call.outcome === "aborted" ? [index] : []));
  }

  /** Throws a `Defect` when the script ran out, when steps are left, or when a call has not settled. */
  assertDone(): void {
    if (this.#overrun !== undefined) throw this.#overrun;
    const used = this.#calls.length;
    if (used < this.#steps.length) {
      throw new Defect(`scripted_model_unfinished: ${used} of ${this.#steps.length} steps were used`);
    }
    const running = this.#calls.findIndex((call) => call.outcome === "running");
    if (running !== -1) throw new Defect(`scripted_model_unfinished: call ${running + 1} has not settled`);
  }

  async #run(request: ChatRequest, onChunk: ChunkListener | undefined): Promise<ModelResponse> {
    const step = this.#steps[this.#calls.length];
    if (step === undefined) {
      this.#overrun ??= new ScriptExhausted("scripted_model", this.#calls.length + 1, this.#steps.length);
      throw this.#overrun;
    }
    const call = begin(request, step, onChunk !== undefined);
    this.#calls.push(call);
    try {
      const response = await playModelStep(step, call, request.signal, onChunk);
      call.outcome = "responded";
      return response;
    } catch (error) {
      call.outcome = request.signal.aborted ? "aborted" : "failed";
      throw error;
    }
  }
}

function toStep(step: ModelStep | ModelResponse): ModelStep {
  return "kind" in step ? step : modelStep.respond(step);
}

function begin({ signal: _, ...request }: ChatRequest, step: ModelStep, streaming: boolean): Call {
  const recorded = Object.freeze({
    ...request,
    messages: frozen(request.messages, "request.messages"),
    tools: frozen(request.tools, "request.tools"),
    options: frozen(request.options, "request.options"),
    requestContext: frozen(request.requestContext, "request.requestContext"),
  });
  const script = streaming && step.kind !== "respond" ? step.chunks : NO_CHUNKS;
  return { request: recorded, streaming, script, delivered: 0, outcome: "running" };
}
