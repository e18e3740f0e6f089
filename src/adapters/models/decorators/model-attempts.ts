import { ModelError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { addUsage, decodeUsage, mergeUsage, type Usage } from "../../../domain/usage.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../ports/model.js";
import { askModel } from "./decorated-model.js";
import { modelErrorWith } from "./model-error-with.js";

/**
 * Several attempts that are one model call to its consumer: what a failed attempt streamed is reset before the next begins, and what it
 * used is part of the usage of the response, of the chunks and of the failure. One attempt at a time.
 */
export class ModelAttempts {
  readonly #onChunk: ChunkListener | undefined;
  #spent: Usage | undefined;
  #outputBegan = false;
  #count = 0;

  constructor(onChunk: ChunkListener | undefined) {
    this.#onChunk = onChunk;
  }

  /** Whether output stands at the consumer; usage is none. */
  get outputBegan(): boolean {
    return this.#outputBegan;
  }

  /** One attempt; settles as the model does. A chunk that comes after it settled is dropped. */
  async run(model: ModelPort, request: ChatRequest, reason: string): Promise<ModelResponse> {
    this.#startOver(reason);
    const attempt: Attempt = { live: true, usage: undefined };
    const onChunk = this.#onChunk === undefined ? undefined : (chunk: StreamChunk) => this.#take(chunk, attempt);
    try {
      const response = await askModel(model, request, onChunk);
      return this.#spent === undefined ? response : { ...response, usage: addUsage(this.#spent, response.usage) };
    } catch (error) {
      if (error instanceof ModelError) this.#spend(error.usage ?? attempt.usage);
      throw error;
    } finally {
      attempt.live = false;
    }
  }

  /** What all failed attempts used. */
  get spent(): Usage | undefined {
    return this.#spent;
  }

  /** The error with which the call fails, with the usage of every attempt. */
  failure(error: ModelError): ModelError {
    const told = this.#count === 1 && error.usage !== undefined;
    return told || this.#spent === undefined ? error : modelErrorWith(error, { usage: this.#spent });
  }

  #startOver(reason: string): void {
    this.#count += 1;
    if (this.#outputBegan) this.#onChunk?.({ type: "reset", reason });
    this.#outputBegan = false;
    this.#tellSpent();
  }

  #take(chunk: StreamChunk, attempt: Attempt): void {
    if (!attempt.live) return;
    if (chunk.type === "usage") {
      attempt.usage = mergeUsage(attempt.usage, chunk.usage);
      const usage = this.#spent === undefined ? chunk.usage : addUsage(this.#spent, attempt.usage);
      return this.#onChunk?.({ type: "usage", usage });
    }
    this.#outputBegan = chunk.type !== "reset";
    this.#onChunk?.(chunk);
    if (chunk.type !== "reset") return;
    attempt.usage = undefined;
    this.#tellSpent();
  }

  /** A reset made the consumer forget it. */
  #tellSpent(): void {
    if (this.#spent !== undefined) this.#onChunk?.({ type: "usage", usage: this.#spent });
  }

  #spend(usage: Usage | undefined): void {
    if (usage !== undefined) this.#spent = addUsage(this.#spent, decodeUsage(usage));
  }
}

type Attempt = { live: boolean; usage: Usage | undefined };
