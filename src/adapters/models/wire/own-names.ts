import type { ModelResponse } from "../../../domain/model.js";
import type { StreamAccumulator } from "../../../domain/stream.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { WireNames } from "./wire-names.js";

/** The chunk with the tool's own name for what the provider calls it; the same object where nothing differs. */
export function withOwnName(chunk: StreamChunk, names: WireNames): StreamChunk {
  if (chunk.type !== "toolCallDelta" || chunk.name === undefined) return chunk;
  const name = names.fromWire(chunk.name);
  return name === chunk.name ? chunk : { ...chunk, name };
}

/** The whole response, its calls under the tools' own names. Fails like `toResponse` where the reply is not whole. */
export function ownResponse(
  accumulator: StreamAccumulator,
  names: WireNames,
  about: { readonly provider: string; readonly model: string | undefined },
): ModelResponse {
  const response = accumulator.toResponse({ malformed: "mark" });
  // A name that was streamed in pieces could not be recognised before.
  const parts = response.parts.map((part) =>
    part.type === "toolCall" ? { ...part, name: names.fromWire(part.name) } : part,
  );
  const { provider, model } = about;
  return { ...response, parts, provider, ...(model === undefined ? undefined : { model }) };
}
