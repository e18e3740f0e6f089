import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import type { Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import { bodies } from "../../faults/anthropic-bodies.js";
import { answered, call, end, start, streamed, text, thinking, whole } from "./anthropic-wire.js";
import { request, tool } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

const asked = { model: "m1", max_tokens: 100, messages: [{ role: "user" as const, content: "hello" }] };

/** What the official client makes of the answers of a server. */
function official(baseUrl: string): Anthropic {
  return new Anthropic({ apiKey: "key", baseURL: baseUrl.replace(/\/v1$/, ""), maxRetries: 0, logLevel: "off" });
}

type Reply = Pick<Anthropic.Message, "content" | "stop_reason" | "usage">;

function outcomeOf({ content, usage }: Reply): unknown {
  const reasoning = content.map((block) => (block.type === "thinking" ? block.thinking : "")).join("");
  const calls = content.flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name, block.input]] : []));
  const input = usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return {
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { calls }),
    input,
    output: usage.output_tokens,
  };
}

describe("the official client, as a judge of the bodies we test with", () => {
  const judged = bodies.filter(({ official: accepts }) => accepts);

  it("judges most of them", () => {
    expect(judged.length).toBeGreaterThan(20);
  });

  it.each(judged.filter(({ wanted }) => wanted.error === undefined))(
    "reads the same: $name",
    async ({ raw, wanted }) => {
      await using server = await loopback(pieces([raw]));
      const reply = await official(server.baseUrl).messages.stream(asked).finalMessage();
      const { finish, usage, calls, ...rest } = wanted;
      const whole = calls?.filter(([, , input]) => typeof input === "object");
      expect(outcomeOf(reply)).toMatchObject({
        ...rest,
        ...(whole === undefined || whole.length === 0 ? {} : { calls: whole }),
        ...(usage === undefined ? {} : { input: usage.inputTokens, output: usage.outputTokens }),
      });
      expect(reply.stop_reason === "tool_use").toBe(finish === "tool-calls");
    },
  );

  it.each(judged.filter(({ wanted }) => wanted.error !== undefined))("fails too: $name", async ({ raw }) => {
    await using server = await loopback(pieces([raw]));
    await expect(official(server.baseUrl).messages.stream(asked).finalMessage()).rejects.toThrow(/overloaded/i);
  });

  it("reads a reply without streaming as we do", async () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "SIG" },
      { type: "text", text: "say", citations: null },
      { type: "tool_use", id: "t1", name: "f", input: { a: 1 }, caller: { type: "direct" } },
    ];
    const raw = whole(content, "tool_use", { input_tokens: 20, cache_read_input_tokens: 80, output_tokens: 10 });
    await using server = await loopback(pieces([raw], JSON_TYPE));
    const reply = await official(server.baseUrl).messages.create(asked);
    const expected = { text: "say", reasoning: "hm", calls: [["t1", "f", { a: 1 }]] };
    expect(outcomeOf(reply)).toEqual({ ...expected, input: 100, output: 10 });
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80 };
    const outcome = { ...expected, finish: "tool-calls", usage };
    expect(await answered({ baseUrl: server.baseUrl })).toEqual(outcome);
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(outcome);
  });

  it("F209: counts cached tokens as a part of the input", async () => {
    const usage = { input_tokens: 20, cache_read_input_tokens: 80, output_tokens: 10 };
    const wanted = { inputTokens: 100, cachedInputTokens: 80, outputTokens: 10, totalTokens: 110 };
    await using server = await loopback(pieces([start(usage) + text(0, "a") + end("end_turn", usage)]));
    expect(await streamed({ baseUrl: server.baseUrl })).toMatchObject({ usage: wanted });
  });

  it("gets the same signature, in pieces or at once", async () => {
    const raw = start() + thinking(0, "hm", "SIG-A") + call(1, "t1", "f", "{}") + end("tool_use");
    await using server = await loopback(pieces([raw]));
    const reply = await official(server.baseUrl).messages.stream(asked).finalMessage();
    expect(reply.content[0]).toMatchObject({ type: "thinking", thinking: "hm", signature: "SIG-A" });
  });
});

describe("a request", () => {
  it("goes where the official client sends its own, with the headers the wire demands", async () => {
    await using server = await loopback(pieces([start() + text(0, "a") + end()]));
    await official(server.baseUrl).messages.stream(asked).finalMessage();
    await streamed({ baseUrl: server.baseUrl, apiKey: "key", keyAs: "bearer" });
    const [theirs, ours] = server.requests;
    expect(ours?.path).toBe(theirs?.path);
    for (const name of ["content-type", "authorization"]) expect(ours?.headers[name]).toBe(theirs?.headers[name]);
    expect(ours?.headers["anthropic-version"]).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(Object.keys(ours?.body ?? {})).toEqual(expect.arrayContaining(Object.keys(theirs?.body ?? {})));
  });

  it("is one that the official types allow", async () => {
    await using server = await loopback(pieces([start() + text(0, "a") + end()]));
    const schema = { type: "object", properties: { a: { type: "string" } } } as const;
    const stamp = { id: "m", at: 0 };
    const model = new AnthropicModel({ model: "claude-opus-4-6", baseUrl: server.baseUrl, cache: "1h" });
    const messages: readonly Message[] = [
      { role: "system", ...stamp, content: [{ type: "text", text: "be brief" }] },
      {
        role: "user",
        ...stamp,
        content: [
          { type: "text", text: "see" },
          { type: "image", source: { url: "https://x.test/a.png" }, mimeType: "image/png" },
          { type: "image", source: { base64: "iVBORw0KGgo=" }, mimeType: "image/png" },
          { type: "file", source: { base64: "JVBERi0=" }, mimeType: "application/pdf", name: "a.pdf" },
          { type: "file", source: { base64: "aGk=" }, mimeType: "text/plain" },
        ],
      },
      {
        role: "assistant",
        ...stamp,
        provider: "anthropic",
        parts: [
          { type: "reasoning", text: "plan", signature: "SIG" },
          { type: "reasoning", text: "CIPHER", redacted: true },
          { type: "text", text: "look" },
          { type: "toolCall", id: "c1", name: "f", arguments: { a: "x" } },
        ],
      },
      {
        role: "tool",
        ...stamp,
        toolCallId: "c1",
        toolName: "f",
        content: [{ type: "text", text: "no" }],
        isError: true,
        outcome: "failed",
      },
    ];
    const options: ChatOptions = {
      toolChoice: "auto",
      parallelToolCalls: false,
      reasoningEffort: "maximum",
      maxOutputTokens: 9000,
      stopSequences: ["END"],
      serviceTier: "auto",
      responseSchema: schema,
    };
    await model.chatStreaming(request({ messages, tools: [tool("f", schema)], options }), () => undefined);
    const cache_control = { type: "ephemeral", ttl: "1h" } as const;
    const png = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } as const;
    const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } as const;
    const file = { type: "text", media_type: "text/plain", data: "hi" } as const;
    const wanted = {
      model: "claude-opus-4-6",
      max_tokens: 9000,
      stream: true,
      system: [{ type: "text", text: "be brief", cache_control }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            { type: "image", source: { type: "url", url: "https://x.test/a.png" } },
            { type: "image", source: png },
            { type: "document", source: pdf, title: "a.pdf" },
            { type: "document", source: file, cache_control },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "plan", signature: "SIG" },
            { type: "redacted_thinking", data: "CIPHER" },
            { type: "text", text: "look" },
            { type: "tool_use", id: "c1", name: "f", input: { a: "x" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "c1",
              is_error: true,
              content: [{ type: "text", text: "no" }],
              cache_control,
            },
          ],
        },
      ],
      tools: [{ name: "f", description: "does f", input_schema: schema, cache_control }],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      stop_sequences: ["END"],
      service_tier: "auto",
      thinking: { type: "adaptive", display: "summarized" },
      output_config: {
        effort: "max",
        format: { type: "json_schema", schema: { ...schema, additionalProperties: false } },
      },
    } satisfies Anthropic.MessageCreateParamsStreaming;
    expect(server.requests[0]?.body).toEqual(wanted);
  });
});
