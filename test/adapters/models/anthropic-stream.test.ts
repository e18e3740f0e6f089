import fc from "fast-check";
import { expect, it } from "vitest";
import { call, sse, start, STOP, streamed, text, thinking, whole } from "./anthropic-wire.js";
import { fetchOf, request } from "./chat-outcome.js";

const index = fc.constantFrom(0, 1, 2, undefined, null, "1", -1, 1.5);
const word = fc.constantFrom("", "a", " b", '{"a":1}', '{"a":', "\u{1f9ed}");
const junk = fc.oneof(fc.jsonValue({ maxDepth: 2 }), word);
const blockStart = fc.record(
  {
    type: fc.constantFrom("text", "tool_use", "thinking", "redacted_thinking", "server_tool_use", "novelty", null),
    text: junk,
    thinking: junk,
    signature: junk,
    data: junk,
    id: fc.oneof(fc.constantFrom("t1", "t2", 7, null), junk),
    name: fc.oneof(fc.constantFrom("f", "g"), junk),
    input: junk,
  },
  { requiredKeys: ["type"] },
);
const delta = fc.record(
  {
    type: fc.constantFrom(
      "text_delta",
      "input_json_delta",
      "thinking_delta",
      "signature_delta",
      "citations_delta",
      null,
    ),
    text: fc.oneof(word, junk),
    partial_json: fc.oneof(word, junk),
    thinking: fc.oneof(word, junk),
    signature: fc.oneof(word, junk),
  },
  { requiredKeys: ["type"] },
);
const usage = fc.record(
  { input_tokens: junk, output_tokens: fc.constantFrom(1, 5, -1, 1e300, "5") },
  { requiredKeys: [] },
);
const events = fc.array(
  fc.oneof(
    fc.constantFrom(start(), text(0, "Hi"), call(1, "t1", "f", '{"a"', ":1}"), thinking(2, "hm", "SIG"), sse("ping")),
    fc.record({ index, content_block: fc.oneof(blockStart, junk) }).map((fields) => sse("content_block_start", fields)),
    fc.record({ index, delta: fc.oneof(delta, junk) }).map((fields) => sse("content_block_delta", fields)),
    index.map((at) => sse("content_block_stop", { index: at })),
    fc
      .record({ delta: fc.oneof(fc.constant({ stop_reason: "end_turn" }), junk), usage })
      .map((fields) => sse("message_delta", fields)),
    fc
      .record({ message: fc.oneof(fc.record({ usage, model: junk }), junk) })
      .map((fields) => sse("message_start", fields)),
    fc.constant(STOP),
    fc.constant(`${whole([{ type: "text", text: "all" }])}\n\n`),
    junk.map((value) => `data: ${JSON.stringify(value)}\n\n`),
    fc.string({ maxLength: 20 }).map((line) => `${line}\n`),
  ),
  { maxLength: 12 },
);

it("a stream of whatever events is a reply that its chunks add up to where it says that it ends, else a ModelError, cut or not", async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.nat(), async (list, place) => {
      const bytes = new TextEncoder().encode(list.join(""));
      const cut = bytes.length === 0 ? 0 : place % bytes.length;
      const options = { baseUrl: "http://unused.test" };
      const outcome = await streamed({ ...options, fetch: fetchOf([bytes]) }, request());
      const ends = list.includes(STOP) || list.some((event) => event.includes('"stop_reason"'));
      if (outcome.error === undefined) expect(ends).toBe(true);
      else expect(outcome).toMatchObject({ error: "response-parse", message: expect.stringMatching(/^ModelError/) });
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(await streamed({ ...options, fetch: fetchOf(pieces) }, request())).toEqual(outcome);
    }),
    { numRuns: 1500 },
  );
});
