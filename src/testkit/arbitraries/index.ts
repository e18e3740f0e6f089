export { type AnyDelta, anyDeltas } from "./any-delta.js";
export { anyContent, anyMessage, anyReplyPart, anyToolResult } from "./any-message.js";
export { type AnyBrokenStream, anyBrokenStream, type AnyStream, anyStream, type StreamFault } from "./any-stream.js";
export { anyJson, anyJsonObject, anyText } from "./any-text.js";
export { type AnyTool, anyTool } from "./any-tool.js";
export { type AnyTranscript, anyTranscript, type TranscriptOptions } from "./any-transcript.js";
