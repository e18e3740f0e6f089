import type { ModelResponse } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { playModelStep } from "./model-player.js";
import { type ModelStep, modelStep } from "./model-step.js";
import { ScriptExhausted } from "./script-exhausted.js";

/**
 * A model that answers by the conversation, not by the clock: a request that holds n replies gets step n. So it answers a request that is
 * made again, after a crash or by another agent, as it did before.
 */
export class ConversingModel implements ModelPort {
  readonly #steps: readonly ModelStep[];

  /** A bare response stands for `modelStep.respond(response)`. */
  constructor(steps: readonly (ModelStep | ModelResponse)[]) {
    this.#steps = steps.map((step) => ("kind" in step ? step : modelStep.respond(step)));
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.#answer(request, undefined);
  }

  chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#answer(request, onChunk);
  }

  describe(): ModelDescription {
    return { provider: "conversing", model: "conversing" };
  }

  async #answer({ messages, signal }: ChatRequest, onChunk: ChunkListener | undefined): Promise<ModelResponse> {
    const replies = messages.filter(({ role }) => role === "assistant").length;
    const step = this.#steps[replies];
    if (step === undefined) throw new ScriptExhausted("conversing_model", replies + 1, this.#steps.length);
    const script = step.kind === "respond" ? [] : step.chunks;
    return playModelStep(step, { script, delivered: 0 }, signal, onChunk);
  }
}
