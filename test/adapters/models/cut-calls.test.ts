import { describe, expect, it } from "vitest";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { StreamAccumulator } from "../../../src/domain/stream.js";
import type { FinishReason } from "../../../src/domain/finish-reason.js";
import { sse, start } from "./anthropic-wire.js";
import { streamedBy } from "./chat-outcome.js";
import { delta, DONE, loopback, pieces } from "./loopback.js";

async function chatOutcome(body: string) {
  await using server = await loopback(pieces([body]));
  return await streamedBy(new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }));
}

const CUT = [["c1", "f", "the arguments were cut off"]];
const opened = delta({
  tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "f", arguments: "" } }],
});

describe("a call without any arguments", () => {
  it.each<[FinishReason, boolean]>([
    ["stop", true],
    ["tool-calls", true],
    ["length", false],
    ["content-filter", false],
    ["refusal", false],
    ["aborted", false],
    ["other", false],
  ])("in a reply that ends with %s is whole: %s", (reason, isWhole) => {
    for (const argumentsDelta of [undefined, "", " \n"]) {
      const accumulator = new StreamAccumulator();
      accumulator.push({
        type: "toolCallDelta",
        index: 0,
        id: "c1",
        name: "f",
        ...(argumentsDelta === undefined ? {} : { argumentsDelta }),
      });
      accumulator.push({ type: "finish", reason });
      const [part] = accumulator.toResponse({ malformed: "mark" }).parts;
      expect(part).toMatchObject({ type: "toolCall", arguments: {} });
      expect(part !== undefined && "malformed" in part).toBe(!isWhole);
    }
  });

  it("is marked where a filter, or a word nobody knows, ended the reply", async () => {
    for (const word of ["content_filter", "refusal", "who_knows"]) {
      expect(await chatOutcome(opened + delta({}, word) + DONE)).toMatchObject({ calls: CUT });
    }
    expect(await chatOutcome(opened + delta({}, "tool_calls") + DONE)).toMatchObject({ calls: [["c1", "f", {}]] });
  });

  it("is marked where the model refused in the middle of it, or the end says no reason", async () => {
    const block = { type: "tool_use", id: "c1", name: "f", input: {} };
    const head = start() + sse("content_block_start", { index: 0, content_block: block });
    for (const stop_reason of ["refusal", null]) {
      const tail = sse("message_delta", { delta: { stop_reason }, usage: { output_tokens: 3 } }) + sse("message_stop");
      await using server = await loopback(pieces([head + tail]));
      const outcome = await streamedBy(new AnthropicModel({ model: "m", baseUrl: server.baseUrl }));
      expect(outcome).toMatchObject({ calls: CUT });
    }
  });
});

describe("a stream that says it is broken, or shows it", () => {
  it.each(["network_error", "failed", "internal_error", "server_error"])(
    "fails by its finish reason: %s",
    async (word) => {
      const outcome = await chatOutcome(delta({ content: "half a sen" }) + delta({}, word) + DONE);
      expect(outcome).toMatchObject({ error: "server", partialText: "half a sen" });
    },
  );

  it("is over where the context was full", async () => {
    const outcome = await chatOutcome(delta({ content: "half a sen" }) + delta({}, "model_context_window_exceeded"));
    expect(outcome).toMatchObject({ finish: "length", text: "half a sen" });
  });

  it("runs no call without arguments where only the end marker says that it is over", async () => {
    expect(await chatOutcome(delta({ content: "said" }) + DONE)).toMatchObject({ text: "said", finish: "other" });
    expect(await chatOutcome(opened + DONE)).toMatchObject({ calls: CUT });
  });

  it("fails where a marker of another wire comes without any finish", async () => {
    await using server = await loopback(
      pieces([
        start() + sse("content_block_start", { index: 0, content_block: { type: "text", text: "half" } }) + DONE,
      ]),
    );
    const outcome = await streamedBy(new AnthropicModel({ model: "m", baseUrl: server.baseUrl }));
    expect(outcome).toMatchObject({ error: "response-parse", partialText: "half" });
  });
});
