import type { ModelResponse } from "../../../domain/model.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";

/** The chunks that a whole reply amounts to, one per part, then its usage and its finish. */
export function replyChunks(response: ModelResponse): readonly StreamChunk[] {
  const chunks: StreamChunk[] = [];
  for (const [part, content] of response.parts.entries()) {
    const { providerData } = content;
    const extras = providerData === undefined ? undefined : { providerData };
    if (content.type === "text") {
      chunks.push({ type: "textDelta", text: content.text, part, ...extras });
    } else if (content.type === "reasoning") {
      const { text, signature, redacted } = content;
      chunks.push({
        type: "reasoningDelta",
        text,
        part,
        ...(signature === undefined ? undefined : { signature }),
        ...(redacted === undefined ? undefined : { redacted }),
        ...extras,
      });
    } else if (content.type === "toolCall") {
      const { id, name, raw, malformed } = content;
      const argumentsDelta = malformed?.raw ?? raw ?? JSON.stringify(content.arguments);
      chunks.push({ type: "toolCallDelta", index: part, id, name, argumentsDelta, ...extras });
    }
  }
  if (response.usage !== undefined) chunks.push({ type: "usage", usage: response.usage });
  const { finishReason: reason, rawFinishReason: rawReason } = response;
  chunks.push({ type: "finish", reason, ...(rawReason === undefined ? undefined : { rawReason }) });
  return chunks;
}
