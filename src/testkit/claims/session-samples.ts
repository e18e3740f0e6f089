import type { AgentMessage, Message, ToolMessage, UserMessage } from "../../domain/message.js";
import type { Json, JsonObject } from "../../domain/json.js";
import type { Session, SessionDelta } from "../../domain/session.js";

/** Text that stores have been known to lose: NUL, half an emoji, line separators, the byte order mark. */
export const HOSTILE_TEXT = "k\u0000v x\ud800y \udc00 \u{1f600} \u2028\u2029 \ufeff \"\\' \r\n";

/** Ids that have been taken for paths, patterns, names of devices or the end of a text. */
export const HOSTILE_IDS = [
  ...[
    "../evil",
    "a/../../evil",
    "..\\evil",
    "..",
    ".",
    "",
    "a\u0000b",
    "%2e%2e/x",
    "C:evil",
    "/etc/passwd",
    "CON",
    "a:b",
  ],
  ...["A", "a", "é", "e\u0301", " a", "a ", "*", "%", "_", "'; --", '"a"', "__proto__", "\ud800", "x".repeat(300)],
];

/** An object whose own key is `__proto__`, which assignment would lose. */
export function withProto(): JsonObject {
  return { ["__proto__"]: { polluted: true }, constructor: 1, toString: "x" };
}

/** Values whose type is lost by stores that keep text. */
export function valueTypes(): JsonObject {
  return {
    n: 5,
    z: null,
    b: false,
    s: "5",
    e: "",
    arr: [],
    obj: {},
    big: 9007199254740991,
    f: 1.5e-7,
    tiny: 5e-324,
    huge: 1.7976931348623157e308,
    "": "empty key",
  };
}

/** A small user message. */
export function note(id: string, text = id): UserMessage {
  return { role: "user", id, at: 1, content: [{ type: "text", text }] };
}

/** A small result of a tool. */
export function toolResult(id: string): ToolMessage {
  return { role: "tool", id, at: 1, toolCallId: "c", toolName: "t", content: [], isError: false, outcome: "completed" };
}

/** A session of small messages at this revision. */
export function sessionOf(revision: number, ...ids: readonly string[]): Session {
  return { messages: ids.map((id) => note(id)), metadata: {}, revision };
}

/** An append of `messages`, compared with `baseRevision` where it is given. */
export function deltaOf(
  operationId: string,
  baseRevision: number | undefined,
  messages: readonly AgentMessage[],
  extras: Omit<SessionDelta, "operationId" | "baseRevision" | "messages"> = {},
): SessionDelta {
  return { operationId, ...(baseRevision === undefined ? undefined : { baseRevision }), messages, ...extras };
}

/** Made anew at each call, so that a store which changes it is found out. Every role, every part, every optional field, and fields of a later version. */
export function everyMessage(): AgentMessage[] {
  const later: JsonObject = { type: "hologram", x: 1, deep: [withProto()] };
  return [
    { role: "system", id: "m1", at: 1, content: [{ type: "text", text: "be brief" }], name: "rules" },
    extended({
      role: "user",
      id: "m2",
      at: 2,
      name: "ann",
      metadata: { ...valueTypes(), nested: withProto() },
      content: [
        { type: "text", text: HOSTILE_TEXT },
        { type: "image", source: { base64: "AAAA" }, mimeType: "image/png" },
        { type: "file", source: { url: "https://example.com/a.pdf" }, mimeType: "application/pdf", name: "a.pdf" },
        later as never,
      ],
    }),
    everyReply(),
    {
      role: "tool",
      id: "m4",
      at: 4,
      toolCallId: "c1",
      toolName: "search",
      content: [],
      structured: { rows: [1, null, "2"] },
      details: withProto(),
      isError: false,
      outcome: "completed",
    },
    { role: "assistant", id: "m5", at: 5, parts: [], stopped: "aborted" },
    {
      role: "sensor of an application",
      id: "m6",
      at: 6,
      celsius: 21.5,
      text: HOSTILE_TEXT,
      nested: withProto(),
    } as never,
  ];
}

function everyReply(): Message {
  return {
    role: "assistant",
    id: "m3",
    at: 3,
    parts: [
      { type: "reasoning", text: "hm", signature: "c2ln/+==", providerData: { encrypted: "\u0000\ud800" } },
      { type: "text", text: "", providerData: null },
      { type: "toolCall", id: "c1", name: "search", arguments: withProto(), raw: '{"n":12345678901234567890}' },
      { type: "reasoning", text: "cipher", redacted: true },
      { type: "toolCall", id: "c2", name: "", arguments: {}, malformed: { raw: '{"a":', reason: "cut" } },
      { type: "text", text: "done" },
    ],
    finishReason: "tool-calls",
    usage: { inputTokens: 10, outputTokens: 0 },
    model: "model",
    provider: "provider",
  };
}

function extended(message: Message): Message {
  const laterFields: Record<string, Json> = { tags: [1], v2: { a: 1 } };
  return { ...message, ...laterFields };
}
