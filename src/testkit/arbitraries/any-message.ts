import fc, { type Arbitrary } from "fast-check";
import type { Content } from "../../domain/content.js";
import type { AssistantPart, MessageInput } from "../../domain/message.js";
import { assistantMessage, systemMessage, userMessage } from "../../domain/message.js";
import { type ToolCall, type ToolOutcome, errorResult, okResult, type ToolResult } from "../../domain/tool.js";
import { anyJson, anyJsonObject, anyText, anyWord } from "./any-text.js";

/** A part of a message: mostly text; pictures and files by address or inline. */
export function anyContent(): Arbitrary<Content> {
  const text = anyText().map((words): Content => ({ type: "text", text: words }));
  const source = fc.oneof(
    anyWord().map((word) => ({ url: `https://example.com/${word}` })),
    fc.uint8Array({ maxLength: 6 }).map((bytes) => ({ base64: btoa(String.fromCharCode(...bytes)) })),
  );
  const image = fc.record({ type: fc.constant("image" as const), source, mimeType: fc.constant("image/png") });
  const bare = { type: fc.constant("file" as const), source, mimeType: fc.constant("application/pdf") };
  const file = fc.record({ ...bare, name: anyText() }, { requiredKeys: ["type", "source", "mimeType"] });
  return fc.oneof({ withCrossShrink: true }, { weight: 4, arbitrary: text }, image, file);
}

/** What a model says beside calls: text and reasoning, with what its provider wants back. */
export function anyReplyPart(): Arbitrary<AssistantPart> {
  const text = fc.record(
    { type: fc.constant("text" as const), text: anyText(), providerData: anyJson() },
    { requiredKeys: ["type", "text"] },
  );
  const reasoning = fc.record(
    {
      type: fc.constant("reasoning" as const),
      text: anyText(),
      signature: anyText(),
      redacted: fc.constant(true),
      providerData: anyJson(),
    },
    { requiredKeys: ["type", "text"] },
  );
  return fc.oneof({ withCrossShrink: true }, { weight: 3, arbitrary: text }, reasoning);
}

/** A call without its id, which depends on what stands around it. */
export function anyCallBody(): Arbitrary<Omit<ToolCall, "id">> {
  return fc.record({ name: anyWord(), arguments: anyJsonObject() });
}

/** What a tool gave. */
export function anyToolResult(): Arbitrary<ToolResult> {
  const content = fc.array(anyContent(), { maxLength: 2 });
  const extras = fc.record({ structured: anyJson(), details: anyJson() }, { requiredKeys: [] });
  return fc
    .tuple(content, extras, fc.boolean())
    .map(([parts, more, failed]) => (failed ? errorResult(parts, more) : okResult(parts, more)));
}

/** What became of a call that has a result. */
export function anyOutcome(): Arbitrary<ToolOutcome> {
  return fc.constantFrom("completed", "failed", "unknown", "not-started");
}

/** A message as callers make it: from a person, an instruction, or a reply without calls. Shrinks to a person who says nothing. */
export function anyMessage(): Arbitrary<MessageInput> {
  const extras = fc.record({ name: anyWord(), metadata: anyJsonObject() }, { requiredKeys: [] });
  const content = fc.array(anyContent(), { maxLength: 3 });
  const parts = fc.array(anyReplyPart(), { maxLength: 3 });
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 3, arbitrary: fc.tuple(content, extras).map(([given, more]) => userMessage(given, more)) },
    fc.tuple(content, extras).map(([given, more]) => systemMessage(given, more)),
    fc.tuple(parts, extras).map(([given, more]) => assistantMessage(given, more)),
  );
}
