import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ChunkListener } from "../../../ports/model.js";

/** Keeps what a listener throws, which no listener may, apart from failures of the call: it is the listener's own mistake. */
export class ListenerGuard {
  readonly #listener: ChunkListener;
  #fault: { readonly error: unknown } | undefined;

  constructor(listener: ChunkListener) {
    this.#listener = listener;
  }

  /** Hands a chunk over, and throws what the listener throws; one that has thrown gets no more. */
  readonly take = (chunk: StreamChunk): void => {
    this.check();
    try {
      this.#listener(chunk);
    } catch (error) {
      this.#fault = { error };
      throw error;
    }
  };

  /** Throws what the listener has thrown, as it is. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }
}
