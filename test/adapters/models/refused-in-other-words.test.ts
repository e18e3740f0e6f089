import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import type { ModelError } from "../../../src/domain/errors.js";
import type { ToolDef } from "../../../src/domain/tool.js";
import { request, tool } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

async function refused(status: number, body: unknown, headers: Record<string, string> = {}): Promise<ModelError> {
  await using server = await loopback(pieces([JSON.stringify(body)], { ...JSON_TYPE, ...headers }, status));
  const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
  return await model.chat(request()).then(
    () => expect.fail("the call succeeded"),
    (error: unknown) => error as ModelError,
  );
}

const json = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

describe("a status that is not in the books", () => {
  it.each<[number, string, string, boolean]>([
    [420, "Enhance your calm", "rate-limit", true],
    [424, "Request failed during generation", "server", true],
    [498, "Flex tier capacity exceeded", "overloaded", true],
    [499, "The operation was cancelled.", "server", true],
    [403, "You have exceeded a secondary rate limit. Please wait a few minutes.", "rate-limit", true],
    [403, "Too many requests", "rate-limit", true],
    [400, "ThrottlingException: Too many requests, please wait", "rate-limit", true],
    [403, "Insufficient balance", "rate-limit", false],
    [400, "Unknown parameter: 'rate_limit'", "invalid-request", false],
    [400, "Invalid schema for function 'set_rate_limit': throttling_delay is no type", "invalid-request", false],
    [403, "Forbidden", "auth", false],
  ])("%i with %j is %s", async (status, message, kind, retryable) => {
    expect(await refused(status, json(message))).toMatchObject({ kind, status, retryable });
  });
});

describe("a gateway that quotes the provider behind it", () => {
  it.each<[string, unknown, string]>([
    ["as JSON", JSON.stringify({ error: { message: "prompt is too long: 9 tokens > 4 maximum" } }), "context-overflow"],
    ["as an object", { error: { message: "prompt is too long: 9 tokens > 4 maximum" } }, "context-overflow"],
    ["as text", "This model's maximum context length is 8192 tokens", "context-overflow"],
    ["as a filter", JSON.stringify({ error: { code: "content_filter", message: "no" } }), "content-filter"],
  ])("says what that one said: %s", async (_, raw, kind) => {
    const error = await refused(
      400,
      json("Provider returned error", { code: 400, metadata: { raw, provider_name: "X" } }),
    );
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(/HTTP 400: Provider returned error: \w+/);
  });
});

describe("a request that is too long", () => {
  it.each<[number, string]>([
    [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    [400, "Invalid request: Your request exceeded model token limit: 8192"],
    [422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"],
    [400, "messages too long"],
    [400, "Total tokens of image and text exceed max message tokens"],
    [400, "The prompt is longer than the model's context"],
    [500, "context shift is disabled"],
    [422, "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"],
  ])("is one in these words too: %i %s", async (status, message) => {
    expect(await refused(status, json(message))).toMatchObject({ kind: "context-overflow" });
  });

  it("is none where a setting is too large", async () => {
    const error = await refused(422, json("`max_new_tokens` must be <= 512. Given: 600"));
    expect(error).toMatchObject({ kind: "invalid-request" });
  });
});

describe("a request that the provider does not want to answer", () => {
  it.each([
    { error: { message: "Content Exists Risk", type: "invalid_request_error", code: "invalid_request_error" } },
    { error: { code: "data_inspection_failed", message: "Input data may contain inappropriate content." } },
    { error: { code: "DataInspectionFailed", message: "Input data is refused" } },
    { error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" } },
    { base_resp: { status_code: 1026, status_msg: "input new_sensitive" } },
  ])("is filtered, and not asked again: %j", async (body) => {
    expect(await refused(400, body)).toMatchObject({ kind: "content-filter", retryable: false });
  });
});

describe("a wait that is asked for", () => {
  it.each<[Record<string, string>, string, number | undefined]>([
    [{ "retry-after": "2, 2" }, "", 2000],
    [{ "x-ms-retry-after-ms": "1500" }, "", 1500],
    [{ "retry-after": "1000000000" }, "", 0],
    [{ "retry-after": "thu, 01 jan 1970 00:00:00 gmt" }, "", 0],
    [{}, "exceeded token rate limit. Please retry after 7 seconds. See https://a.example", 7000],
    [{}, "Please try again in 1h2m3.5s.", 3_723_500],
    [{}, "Please try again in 2 minutes.", 120_000],
    [{}, "Please try again in 250ms.", 250],
    [{}, "Please wait 5 seconds before retrying", 5000],
    [{}, "Please wait a few minutes", undefined],
    [{}, "Please try again in 5 moments", undefined],
  ])("%j %j is %s ms", async (headers, message, wanted) => {
    expect((await refused(429, json(message), headers)).retryAfterMs).toBe(wanted);
  });
});

describe("a schema as languages write it that have no missing fields", () => {
  const sent = async (inputSchema: unknown): Promise<unknown> => {
    await using server = await loopback(pieces(["{}"], JSON_TYPE, 400));
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    const tools = [tool("f", inputSchema as ToolDef["inputSchema"])];
    await model.chat(request({ tools })).catch(() => undefined);
    const [first] = server.requests[0]?.body["tools"] as { function: { parameters: unknown } }[];
    return first?.function.parameters;
  };

  it.each<[string, object, object]>([
    ["no properties", { type: "object", properties: null, required: null }, { type: "object", properties: {} }],
    ["properties as a list", { type: "object", properties: [] }, { type: "object", properties: {} }],
    [
      "null keywords of a property",
      { type: "object", properties: { a: { type: "string", description: null, enum: null, default: null } } },
      { type: "object", properties: { a: { type: "string", default: null } } },
    ],
    ["a null property", { type: "object", properties: { a: null } }, { type: "object", properties: { a: {} } }],
    [
      "a list of anything",
      { type: "object", properties: { a: { type: "array" }, b: { type: ["array", "null"] } } },
      { type: "object", properties: { a: { type: "array", items: {} }, b: { type: ["array", "null"], items: {} } } },
    ],
    [
      "limits of an older draft",
      { type: "object", properties: { n: { type: "number", minimum: 0, exclusiveMinimum: true, required: true } } },
      { type: "object", properties: { n: { type: "number", minimum: 0 } } },
    ],
    [
      "properties named like keywords",
      { type: "object", properties: { required: { type: "string" }, default: { type: "array" } } },
      { type: "object", properties: { required: { type: "string" }, default: { type: "array", items: {} } } },
    ],
  ])("is one that strict providers take: %s", async (_, given, wanted) => {
    expect(await sent(given)).toEqual(wanted);
  });
});
