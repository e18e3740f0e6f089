import { describe, expect, it } from "vitest";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { retrying } from "../../../src/adapters/models/decorators.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { testRuntime } from "../../../src/testkit/index.js";
import * as anthropic from "./anthropic-wire.js";
import { request, streamedBy } from "./chat-outcome.js";
import { delta, event, JSON_TYPE, loopback, pieces, SSE, STOP } from "./loopback.js";

/** How a server's refusal is understood. */
async function judged(status: number, error: object, headers: Record<string, string> = {}): Promise<unknown> {
  await using server = await loopback(pieces([JSON.stringify({ error })], { ...JSON_TYPE, ...headers }, status));
  const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
  return await model.chat(request()).catch((failure: unknown) => failure);
}

const GROQ =
  "Rate limit reached for model `m` on tokens per minute (TPM): Limit 12000, Used 4437. Please try again in 1s. Need more tokens? Upgrade at https://console.example.com/settings/billing";
const FREE_TIER =
  "Rate limit reached for m on requests per min (RPM): Limit 3, Used 3. Please try again in 1s. You can increase your rate limit by adding a payment method at https://platform.example.com/account/billing.";

describe("a rate limit whose text tells where to pay for more", () => {
  it.each([
    ["a console", GROQ],
    ["an account", FREE_TIER],
  ])("passes with time: %s", async (_place, message) => {
    await using server = await loopback((response, _, nth) => {
      const busy = JSON.stringify({ error: { message, type: "tokens", code: "rate_limit_exceeded" } });
      if (nth === 0) response.writeHead(429, { ...JSON_TYPE, "retry-after": "1" }).end(busy);
      else response.writeHead(200, SSE).end(delta({ content: "ok" }) + STOP);
    });
    const runtime = testRuntime();
    const model = retrying(new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }), { runtime });
    const call = streamedBy(model);
    await expect.poll(() => server.requests.length).toBe(1);
    await expect.poll(() => runtime.pendingTimers).toBe(1);
    await runtime.advance(5_000);
    expect(await call).toMatchObject({ text: "ok" });
  });

  it("passes with time by its words or its header alone", async () => {
    expect(await judged(429, { message: GROQ })).toMatchObject({ kind: "rate-limit", retryable: true });
    const waiting = await judged(429, { message: "Too busy, see billing" }, { "retry-after": "3" });
    expect(waiting).toMatchObject({ kind: "rate-limit", retryable: true, retryAfterMs: 3000 });
  });

  it("is no account without credit, which does not", async () => {
    const quota = "You exceeded your current quota, please check your plan and billing details.";
    for (const error of [
      { message: quota, code: "insufficient_quota" },
      { message: "Billing hard limit has been reached" },
      { message: "There is a problem with your billing" },
    ]) {
      expect(await judged(429, error)).toMatchObject({ kind: "rate-limit", retryable: false });
    }
  });
});

describe("an error that speaks of the context or of a filter", () => {
  it.each([
    [
      400,
      "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
      "invalid-request",
      false,
    ],
    [400, "Unsupported parameter: 'context_length'", "invalid-request", false],
    [400, "Unknown parameter: 'moderation'.", "invalid-request", false],
    [400, "The parameter `content_filter` is not supported by this model", "invalid-request", false],
    [404, "The model m-context-length-32k does not exist", "invalid-request", false],
    [404, "The model omni-moderation does not exist", "invalid-request", false],
    [503, "context window pool exhausted, try again", "overloaded", true],
    [504, "context length probe timed out", "timeout", true],
    [400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", "context-overflow", false],
    [
      400,
      "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens",
      "context-overflow",
      false,
    ],
    [400, "The response was filtered due to the content policy", "content-filter", false],
    [403, "Your input was flagged by moderation", "content-filter", false],
  ])("with status %i is what it is about: %s", async (status, message, kind, retryable) => {
    expect(await judged(status, { message })).toMatchObject({ kind, retryable });
  });
});

describe("an error in a stream that names a setting", () => {
  it.each(["Unknown parameter: 'moderation'.", "Unsupported parameter: 'context_length'"])(
    "is about the request: %s",
    async (message) => {
      await using server = await loopback(pieces([event({ error: { message } })], SSE));
      const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
      expect(await streamedBy(model)).toMatchObject({ error: "invalid-request" });
    },
  );
});

describe("an event that has `error: null` beside its own fields", () => {
  it("is a piece of the reply", async () => {
    const body = (anthropic.start() + anthropic.text(0, "hi") + anthropic.end("end_turn")).replaceAll(
      '{"type":',
      '{"error":null,"type":',
    );
    await using server = await loopback(pieces([body]));
    expect(await streamedBy(new AnthropicModel({ model: "m", baseUrl: server.baseUrl }))).toMatchObject({ text: "hi" });
  });
});
