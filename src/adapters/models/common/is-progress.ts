import type { StreamChunk } from "../../../domain/stream-chunk.js";

/** Whether a chunk brings a piece of the reply: not usage, nor the empty pieces with which some servers keep a connection open. */
export function isProgress(chunk: StreamChunk): boolean {
  switch (chunk.type) {
    case "usage":
      return false;
    case "textDelta":
      return chunk.text !== "" || chunk.providerData !== undefined;
    case "reasoningDelta":
      return (
        chunk.text !== "" || Boolean(chunk.signature) || chunk.redacted === true || chunk.providerData !== undefined
      );
    case "toolCallDelta":
      return (
        Boolean(chunk.id) || Boolean(chunk.name) || Boolean(chunk.argumentsDelta) || chunk.providerData !== undefined
      );
    default:
      return true;
  }
}
