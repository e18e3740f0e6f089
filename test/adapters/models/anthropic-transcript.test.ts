import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropicBody, type BodyContext } from "../../../src/adapters/models/anthropic/anthropic-request.js";
import { toProviderTranscript } from "../../../src/adapters/models/anthropic/anthropic-transcript.js";
import { encodeJson } from "../../../src/adapters/models/wire/wire-json.js";
import { WireNames } from "../../../src/adapters/models/wire/wire-names.js";
import type { Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import type { ToolDef } from "../../../src/domain/tool.js";
import { refusals } from "./anthropic-law.js";
import { request } from "./chat-outcome.js";

const word = fc.oneof(
  fc.constantFrom("", " ", "\n\t", "hi", "end \n", "\u{1f9ed}", "\ud800", "a b"),
  fc.string({ maxLength: 8, unit: "binary" }),
);
const mimeType = fc.constantFrom("image/png", "image/JPEG", "image/bmp", "application/pdf", "text/csv; x=1", "", "x");
const base64 = fc.constantFrom(
  "",
  "iVBORw0KGgo=",
  "aGk",
  "aGk=",
  "a-_/",
  "no base64!",
  "/9j/4A==",
  "aGkgaGk=",
  "IAo=",
  "A",
);
const url = fc.constantFrom(
  "https://a.test/x.png",
  "http://a.test",
  "file:///etc",
  "x",
  "data:image/png;base64,iVBORw0KGgo=",
);
const source = fc.oneof(
  base64.map((bytes) => ({ base64: bytes })),
  url.map((address) => ({ url: address })),
);
const content = fc.oneof(
  word.map((text) => ({ type: "text", text })),
  fc.record({ type: fc.constantFrom("image", "file"), source, mimeType, name: word }),
  fc.constantFrom<unknown>({ type: "hologram" }, {}, null, { type: "text" }, { type: "image" }),
);
/** Few ids, so that calls, results and repetitions meet. */
const id = fc.constantFrom("c1", "c2", "c3", "functions.f:0", "functions f 0", "", "ü".repeat(70), "x".repeat(65));
const name = fc.constantFrom("f", "g", "fs.list", "fs/list", "", "n".repeat(70));
const args = fc.constantFrom<unknown>({}, { a: 1 }, '{"a":1}', '{"cut', [], null, "text");
const block = fc.constantFrom<unknown>(
  { type: "server_tool_use", id: "s1", name: "web_search", input: {} },
  { type: "server_tool_use", id: "s2", name: "web_search", input: {} },
  { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
  { type: "web_search_tool_result", tool_use_id: "s9", content: [] },
);
const citations = fc.constantFrom<unknown>([{ type: "char_location" }], [{}, 1], [], null, { type: "x" });
const part = fc.oneof(
  word.map((text) => ({ type: "text", text })),
  fc.record({ text: word, citations }).map(({ text, citations: list }) => ({
    type: "text",
    text,
    providerData: { citations: list },
  })),
  fc.record(
    { type: fc.constant("reasoning"), text: word, signature: fc.oneof(word, fc.constant(7)), redacted: fc.boolean() },
    { requiredKeys: ["type", "text"] },
  ),
  block.map((one) => ({ type: "reasoning", text: "", providerData: { block: one } })),
  fc.record({ type: fc.constant("toolCall"), id, name, arguments: args }),
  fc.constantFrom<unknown>({ type: "song" }, null, { type: "toolCall" }, { type: "reasoning" }),
);
const contents = fc.oneof(fc.array(content, { maxLength: 3 }), word, fc.constant(undefined));
const stamp = { id: "m", at: 0 };
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "user", "note"), content: contents }),
  fc.record(
    {
      role: fc.constant("assistant"),
      parts: fc.oneof(fc.array(part, { maxLength: 5 }), fc.constant(undefined)),
      provider: fc.constantFrom("anthropic", "openai-chat"),
      stopped: fc.constantFrom("aborted", "error"),
    },
    { requiredKeys: ["role", "parts"] },
  ),
  fc.record(
    {
      role: fc.constant("tool"),
      toolCallId: id,
      toolName: name,
      content: contents,
      isError: fc.boolean(),
      structured: fc.constant([1]),
    },
    { requiredKeys: ["role", "toolCallId", "toolName", "content", "isError"] },
  ),
);
/** Whatever a store may hold: what an older version, another program or a broken turn has left. */
const stored = fc
  .array(message, { maxLength: 14 })
  .map((list) => list.map((one) => ({ ...one, ...stamp })) as unknown as Message[])
  // The same object may stand twice.
  .chain((list) => fc.boolean().map((twice) => (twice ? [...list, ...list.slice(0, 2)] : list)));

const schema = fc.constantFrom<unknown>(
  { type: "object", properties: {} },
  { type: "string" },
  null,
  { properties: { a: { type: "number" } } },
  { oneOf: [{ required: ["a"], properties: { a: {} } }, { required: ["a", "b"] }] },
  { type: "object", allOf: [{ anyOf: [{ properties: { z: {} } }] }], anyOf: [true] },
);
const tools = fc
  .array(fc.record({ name, description: word, inputSchema: schema }), { maxLength: 4 })
  .map((list) => list as unknown as ToolDef[]);
const options: fc.Arbitrary<ChatOptions> = fc.record(
  {
    toolChoice: fc.constantFrom<NonNullable<ChatOptions["toolChoice"]>>(
      "auto",
      "none",
      "required",
      { tool: "f" },
      { tool: "no" },
    ),
    parallelToolCalls: fc.boolean(),
    reasoningEffort: fc.constantFrom("off", "minimal", "low", "medium", "high", "xhigh", "maximum"),
    temperature: fc.constantFrom(-1, 0, 0.5, 2),
    topP: fc.constant(0.9),
    maxOutputTokens: fc.constantFrom(1, 1024, 1025, 2048, 5000, 64_000),
    stopSequences: fc.constantFrom([], ["END", " "]),
  },
  { requiredKeys: [] },
);
const model = fc.constantFrom(
  "m1",
  "claude-3-haiku-20240307",
  "claude-sonnet-4-5-20250929",
  "claude-opus-4-6",
  "claude-sonnet-5",
  "claude-opus-5-5",
  "claude-fable-5",
);
const context = (names: WireNames, fields: Partial<BodyContext> = {}): BodyContext => ({
  names,
  model: "m1",
  provider: "anthropic",
  cache: "5m",
  display: "summarized",
  thinking: undefined,
  efforts: {},
  maxOutputTokens: undefined,
  reasoning: true,
  ...fields,
});

describe("a request on the messages wire", () => {
  it("is legal whatever is stored, offered and asked for", () => {
    fc.assert(
      fc.property(stored, tools, options, model, fc.boolean(), (messages, offered, asked, name, reasoning) => {
        const names = new WireNames(offered.map((tool) => tool.name));
        const body = anthropicBody(
          request({ messages, tools: offered, options: { ...asked, model: name } }),
          true,
          context(names, { reasoning }),
        );
        expect(refusals(JSON.parse(encodeJson(body)))).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });

  it("begins as the request before it did when the conversation has gone on", () => {
    fc.assert(
      fc.property(stored, stored, (before, more) => {
        const names = new WireNames([]);
        const form = { names, provider: "anthropic", prefill: true, reasoning: true };
        const settled = [...before, { role: "user", ...stamp, content: [{ type: "text", text: "next" }] } as Message];
        // A result that comes later changes what stood for it.
        const later = more.filter(({ role }) => role !== "tool");
        const first = toProviderTranscript(settled, form).messages;
        const second = toProviderTranscript([...settled, ...later], form).messages;
        expect(second.slice(0, first.length - 1)).toEqual(first.slice(0, -1));
        expect(second[first.length - 1]?.content.slice(0, first.at(-1)?.content.length)).toEqual(first.at(-1)?.content);
      }),
      { numRuns: 1000 },
    );
  });

  it("changes none of the messages it is made of, and is the same every time", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const form = { names: new WireNames([]), provider: "anthropic", prefill: false, reasoning: true };
        const copy = structuredClone(messages);
        const first = toProviderTranscript(messages, form);
        expect(toProviderTranscript(messages, form)).toEqual(first);
        expect(messages).toEqual(copy);
      }),
      { numRuns: 300 },
    );
  });
});
