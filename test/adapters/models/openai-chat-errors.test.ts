import { describe, expect, it } from "vitest";
import { OpenAiChatModel, type OpenAiChatOptions } from "../../../src/adapters/models/openai-chat.js";
import { CompositionError, ModelError } from "../../../src/domain/errors.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { request, tool } from "./chat-outcome.js";
import { event, loopback, pieces } from "./loopback.js";

async function failure(options: Partial<OpenAiChatOptions>, asked = request()): Promise<ModelError> {
  try {
    await new OpenAiChatModel({ model: "m", ...options }).chatStreaming(asked, () => undefined);
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

async function answered(
  status: number,
  body: string,
  headers: Record<string, string> = {},
  asked: ChatRequest = request(),
): Promise<ModelError> {
  await using server = await loopback(pieces([body], headers, status));
  const error = await failure({ baseUrl: server.baseUrl }, asked);
  expect(server.requests).toHaveLength(1);
  return error;
}

const json = (message: string, fields: object = {}): string => JSON.stringify({ error: { message, ...fields } });

describe("an error status", () => {
  it.each<[number, string, string, boolean]>([
    [400, json("Unknown parameter: 'x'"), "invalid-request", false],
    [
      400,
      json("max_tokens is too large: 9. This model supports at most 4 completion tokens"),
      "invalid-request",
      false,
    ],
    [400, json("API key not valid. Please pass a valid API key."), "auth", false],
    [
      400,
      json("This model's maximum context length is 8192 tokens. However, ...", { code: "context_length_exceeded" }),
      "context-overflow",
      false,
    ],
    [
      400,
      json("the request exceeds the available context size", { type: "exceed_context_size_error" }),
      "context-overflow",
      false,
    ],
    [
      400,
      '{"object":"error","message":"The input (9 tokens) is longer than the model\'s context length (4 tokens).","code":400}',
      "context-overflow",
      false,
    ],
    [400, json("prompt is too long: 9 tokens > 4 maximum"), "context-overflow", false],
    [400, json("Range of input length should be [1, 30720]"), "context-overflow", false],
    [400, json("Please reduce the length of the messages or completion."), "context-overflow", false],
    [500, json("Context size has been exceeded."), "context-overflow", false],
    [
      400,
      json("The response was filtered", {
        code: "content_filter",
        innererror: { code: "ResponsibleAIPolicyViolation" },
      }),
      "content-filter",
      false,
    ],
    [403, json("Your input was flagged by moderation"), "content-filter", false],
    [401, json("Incorrect API key provided"), "auth", false],
    [401, json("Your account was flagged"), "auth", false],
    [403, json("Forbidden"), "auth", false],
    [402, json("Insufficient Balance"), "rate-limit", false],
    [404, json("The model `x` does not exist"), "invalid-request", false],
    [404, "404 page not found", "invalid-request", false],
    [408, "", "timeout", true],
    [413, json("Request too large"), "context-overflow", false],
    [413, json("Request too large ... tokens per minute", { code: "rate_limit_exceeded" }), "rate-limit", true],
    [422, '{"detail":[{"loc":["body","messages"],"msg":"field required"}]}', "invalid-request", false],
    [429, json("Rate limit reached: too many tokens"), "rate-limit", true],
    [429, json("You exceeded your current quota", { code: "insufficient_quota" }), "rate-limit", false],
    [500, "", "server", true],
    [501, "", "server", false],
    [502, "<html><h1>502 Bad Gateway</h1></html>", "server", true],
    [503, "Service Unavailable", "overloaded", true],
    [504, "", "timeout", true],
    [524, "", "timeout", true],
    [529, json("Overloaded"), "overloaded", true],
    [302, "", "invalid-request", false],
  ])("%i with %s is %s", async (status, body, kind, retryable) => {
    const error = await answered(status, body, status === 302 ? { location: "/elsewhere" } : {});
    expect(error).toMatchObject({ kind, status, retryable, provider: "openai-chat" });
    expect(error.message).toContain(`HTTP ${status}`);
  });

  it("F169: quotes a short piece of a body that is no JSON, never a syntax error", async () => {
    expect((await answered(502, "<html><h1>502 Bad Gateway</h1></html>")).message).toBe(
      "ModelError(server): HTTP 502: 502 Bad Gateway",
    );
    expect((await answered(503, "Service Unavailable", { "content-type": "application/json" })).message).toBe(
      "ModelError(overloaded): HTTP 503: Service Unavailable",
    );
    expect((await answered(500, "")).message).toBe("ModelError(server): HTTP 500");
    const long = await answered(500, `<!DOCTYPE html><style>a{}</style>\n<p>${"long ".repeat(50)}`);
    expect(long.message).toMatch(/^ModelError\(server\): HTTP 500: a\{\} long .{50,60}\.\.\.\(truncated\)$/);
  });

  it("is told from the status however deep its body nests", async () => {
    const body = `${'{"error":'.repeat(5000)}"x"${"}".repeat(5000)}`;
    expect(await answered(400, body)).toMatchObject({ kind: "invalid-request", status: 400 });
  });

  it("carries the provider's id of the request", async () => {
    expect(await answered(500, "", { "x-request-id": "req_1" })).toMatchObject({ requestId: "req_1" });
    expect(await answered(200, event({ error: "boom" }), { "x-request-id": "req_2" })).toMatchObject({
      requestId: "req_2",
    });
  });

  it.each<[Record<string, string>, string, number | undefined]>([
    [{ "retry-after": "2" }, "", 2000],
    [{ "retry-after": "0" }, "", 0],
    [{ "retry-after": "-5" }, "", undefined],
    [{ "retry-after": "soon" }, "", undefined],
    [{ "retry-after": "Wed, 99 Foo 2026" }, "", undefined],
    [{ "retry-after-ms": "1500" }, "", 1500],
    [{}, "", undefined],
    [{}, json("Please try again in 1m2.5s."), 62_500],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, "", 0],
  ])("F167: %j asks to wait %s: %s", async (headers, body, wanted) => {
    expect((await answered(429, body, headers)).retryAfterMs).toBe(wanted);
  });

  it("F167: asks to wait until a date", async () => {
    const error = await answered(429, "", { "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    expect(error.retryAfterMs).toBeGreaterThan(30_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it.each([
    json("Invalid schema for function 'second': no", { param: "tools[1].function.parameters" }),
    json("Invalid 'tools[1].function.name'"),
    json("Invalid schema for function 'second': bad"),
    '{"detail":[{"loc":["body","tools",1,"function"],"msg":"bad"}]}',
  ])("names the tool the provider refuses: %s", async (body) => {
    const asked = request({ tools: [tool("first"), tool("second")] });
    expect(await answered(400, body, {}, asked)).toMatchObject({ kind: "invalid-request", toolName: "second" });
  });

  it("names a tool by its own name where it was sent under another, and none that was not sent", async () => {
    const asked = request({ tools: [tool("fs.list")] });
    expect(await answered(400, json("tools[0] is bad"), {}, asked)).toMatchObject({ toolName: "fs.list" });
    expect((await answered(400, json("tools[3] is bad, function 'other' too"), {}, asked)).toolName).toBeUndefined();
  });

  it("is told from the status where the body breaks off or is endless", async () => {
    await using broken = await loopback((response) => {
      response.writeHead(500, { "content-length": "100" });
      response.write("half");
      response.socket?.end();
    });
    expect(await failure({ baseUrl: broken.baseUrl })).toMatchObject({ kind: "server", status: 500 });
    await using endless = await loopback((response) => {
      response.writeHead(500);
      const more = (): void => void (response.destroyed || response.write("x".repeat(65_536), more));
      more();
    });
    expect(await failure({ baseUrl: endless.baseUrl })).toMatchObject({ kind: "server", status: 500 });
  });
});

describe("a network failure", () => {
  it("is told as transport, with the code of its cause", async () => {
    await using gone = await loopback(() => undefined);
    const { baseUrl } = gone;
    await gone[Symbol.asyncDispose]();
    const error = await failure({ baseUrl });
    expect(error).toMatchObject({ kind: "transport", retryable: true });
    expect(error.message).toContain("ECONNREFUSED");
  });

  it("is told as transport, with what came, where the connection breaks in the middle", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, { "content-length": "10000" });
      response.write(event({ choices: [{ index: 0, delta: { content: "Half" } }] }), () => response.socket?.destroy());
    });
    const error = await failure({ baseUrl: server.baseUrl });
    expect(error).toMatchObject({ kind: "transport", partial: [{ type: "text", text: "Half" }] });
  });
});

describe("secrets", () => {
  const shown = (error: ModelError): string =>
    `${error.message} ${String(error.cause)} ${JSON.stringify(error)} ${error.stack ?? ""} ${error.requestId ?? ""}`;

  it("are in no error, even where the server repeats them", async () => {
    const key = "sk-0123456789-secret";
    const headers = { "api-key": "header-secret" };
    const echo = `key ${key} ${headers["api-key"]} user name-secret pass word-secret query-secret`;
    for (const [status, body] of [
      [401, json(echo)],
      [500, echo],
      [200, event({ error: echo })],
      [200, event(echo)],
    ] as const) {
      await using server = await loopback(pieces([body], { "x-request-id": key }, status));
      const url = server.baseUrl.replace("//", "//name-secret:word-secret@");
      const error = await failure({ baseUrl: `${url}?sig=query-secret`, apiKey: () => Promise.resolve(key), headers });
      expect(shown(error)).not.toMatch(/-secret/);
      expect(error.message).toContain("[secret]");
      expect(server.requests[0]?.path).toMatch(/\/chat\/completions\?sig=query-secret$/);
      expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
    }
  });

  it("are in no error of a request that could not be sent", async () => {
    const options: Partial<OpenAiChatOptions>[] = [
      { baseUrl: "http://name-secret:word-secret@127.0.0.1:1/?q=query-secret", apiKey: "sk-secret" },
      { baseUrl: "http://127.0.0.1:1", apiKey: "sk-\nsecret" },
      { baseUrl: "http://127.0.0.1:1", headers: { authorization: "Bearer \n-secret" } },
      { baseUrl: "http://127.0.0.1:1", apiKey: () => Promise.reject(new Error("-secret")) },
      { baseUrl: "http://127.0.0.1:1", fetch: () => Promise.reject(new Error("-secret")) },
    ];
    const kinds = [];
    for (const option of options) {
      const error = await failure(option);
      expect(shown(error)).not.toMatch(/-secret/);
      kinds.push(error.kind);
    }
    expect(kinds).toEqual(["transport", "auth", "request-build", "auth", "transport"]);
  });

  it("are in no error, in whatever form the server repeats them", async () => {
    const key = 'sk-"quoted"&<-SECRET';
    const query = "Zm9v+YmFy/SECRETx==";
    const headers = { "x-credential": "a SECRET/credential", "x-signature": "SIG-SECRET" };
    const html = key.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
    for (const echo of [
      key.toUpperCase(),
      JSON.stringify(key),
      JSON.stringify(JSON.stringify(key)),
      html,
      html.replaceAll("&quot;", "&#34;"),
      query,
      query.replace("+", " "),
      encodeURIComponent(query),
      ...Object.values(headers),
    ]) {
      await using server = await loopback(pieces([echo], {}, 400));
      const error = await failure({ baseUrl: `${server.baseUrl}?k=${query}`, apiKey: key, headers });
      expect(shown(error)).not.toMatch(/secret(?!\])/i);
    }
  });

  it("are in no error of a fetch that throws at once, or answers with nothing", async () => {
    const fetches: (typeof globalThis.fetch)[] = [
      () => {
        throw new Error("-secret");
      },
      () => Promise.resolve(undefined as unknown as Response),
    ];
    for (const fetch of fetches) {
      const error = await failure({ baseUrl: "http://127.0.0.1:1", fetch });
      expect([error.kind, error.cause]).toEqual(["transport", undefined]);
      expect(shown(error)).not.toContain("-secret");
    }
  });

  it("are in no error about a base URL that is none", () => {
    for (const baseUrl of ["not-secret", "ftp://a:b-secret@host"]) {
      let error: unknown;
      try {
        new OpenAiChatModel({ model: "m", baseUrl });
      } catch (caught) {
        error = caught;
      }
      expect(error).toBeInstanceOf(CompositionError);
      expect(String(error)).not.toContain("-secret");
    }
  });

  it("in the address become basic authentication where there is no key", async () => {
    await using server = await loopback(pieces([""], {}, 500));
    await failure({ baseUrl: server.baseUrl.replace("//", "//us%40er:pass@") });
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa("us@er:pass")}`);
  });

  it("do not follow a redirect", async () => {
    await using target = await loopback(pieces(["{}"]));
    await using server = await loopback(pieces([""], { location: `${target.baseUrl}/x` }, 307));
    expect(await failure({ baseUrl: server.baseUrl, apiKey: "sk-secret" })).toMatchObject({ status: 307 });
    expect(target.requests).toHaveLength(0);
  });
});
