import type { CompressAction, Compressor } from "../../ports/compressor.js";

/** Leaves every conversation as it is. */
export class NoopCompressor implements Compressor {
  readonly name = "noop";

  compress(): CompressAction {
    return { type: "none" };
  }
}
