import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, tool, user } from "./chat-outcome.js";
import { assistant, call, end, gemini, piece, result, text, toolCall } from "./gemini-wire.js";
import { event, JSON_TYPE, type Loopback, loopback, pieces, SSE } from "./loopback.js";

/** The provider of the AI SDK for the same wire, written by others: what it accepts, the wire may be. */
const judge = ({ baseUrl }: Pick<Loopback, "baseUrl">): Required<ModelPort> =>
  new AiSdkModel({ model: createGoogleGenerativeAI({ baseURL: baseUrl, apiKey: "key-1" })("gemini-3-flash") });
const own = ({ baseUrl }: Pick<Loopback, "baseUrl">): Required<ModelPort> => gemini({ baseUrl, apiKey: "key-1" });

const usageMetadata = {
  promptTokenCount: 10,
  candidatesTokenCount: 4,
  thoughtsTokenCount: 3,
  cachedContentTokenCount: 6,
  totalTokenCount: 17,
};
const signed = (part: object, thoughtSignature: string): object => ({ ...part, thoughtSignature });

/** Replies as lists of parts, each list one response of the stream. */
const replies: readonly (readonly [string, readonly (readonly object[])[], string])[] = [
  ["text", [[{ text: "héllo " }], [{ text: "🧭" }]], "STOP"],
  ["thoughts and text", [[{ text: "hm", thought: true }], [{ text: "hi" }]], "STOP"],
  ["parallel calls", [[signed(call("f", { a: [1] }, "c1"), "U0lH"), call("g", {}, "c2")]], "STOP"],
  ["a call behind text", [[{ text: "look" }], [call("f", {}, "c1")]], "STOP"],
  ["a cut reply", [[{ text: "Well" }]], "MAX_TOKENS"],
  ["a filtered reply", [[{ text: "Well" }]], "SAFETY"],
];

async function shown(model: Required<ModelPort>, streamed: boolean) {
  const asked = request({ tools: [tool("f"), tool("g")] });
  const { parts, finishReason, usage } = streamed
    ? await model.chatStreaming(asked, () => undefined)
    : await model.chat(asked);
  // Where neighbours are text both, one client joins them and the other does not.
  const told = ["text", "reasoning"].map((type) =>
    parts.map((part) => (part.type !== "toolCall" && part.type === type ? part.text : "")).join(""),
  );
  const calls = parts.flatMap((part) => (part.type === "toolCall" ? [[part.id, part.name, part.arguments]] : []));
  const signatures = parts.map(
    ({ providerData }) => /"thoughtSignature":"([^"]*)"/.exec(JSON.stringify(providerData ?? null))?.[1],
  );
  return { told, calls, signatures: signatures.filter((one) => one !== undefined), finishReason, usage };
}

describe("the bodies of the Gemini wire that tests use", () => {
  it.each(replies)("mean the same to a client of others: %s", async (_, lists, reason) => {
    const streamedBody = lists.map((list) => event(piece(list))).join("") + end(reason, { usageMetadata });
    const wholeBody = JSON.stringify(piece(lists.flat(), { usageMetadata }, reason));
    await using server = await loopback((response, { path }) => {
      const stream = path.includes(":streamGenerateContent");
      response.writeHead(200, stream ? SSE : JSON_TYPE).end(stream ? streamedBody : wholeBody);
    });
    for (const streamed of [true, false]) {
      expect(await shown(own(server), streamed)).toEqual(await shown(judge(server), streamed));
    }
    expect(
      new Set(server.requests.map(({ path, headers }) => `${path} ${String(headers["x-goog-api-key"])}`)).size,
    ).toBe(2);
  });

  it("fail in the same way", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }];
    const error = { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details };
    await using server = await loopback(pieces([JSON.stringify({ error })], JSON_TYPE, 429));
    for (const model of [own(server), judge(server)]) {
      await expect(model.chat(request())).rejects.toMatchObject({
        kind: "rate-limit",
        status: 429,
        retryAfterMs: 34_000,
        retryable: true,
      });
    }
  });
});

describe("a request on the Gemini wire", () => {
  it("says what a client of others says, in the same fields", async () => {
    await using server = await loopback(pieces([text("hi") + end()]));
    const parts = [
      { type: "reasoning", text: "hm" },
      toolCall("c1", "f", { arguments: { a: 1 } }),
      toolCall("c2", "g"),
    ] as const;
    const signature = { thoughtSignature: "U0lH" };
    /** The reply as each of the two stores it. */
    const stored = (provider: string): readonly Message[] => {
      const ours = provider === "gemini";
      const [thought, first, second] = parts;
      return [
        user("go"),
        assistant(
          [
            thought,
            { ...first, providerData: ours ? { id: "c1", ...signature } : { google: signature } },
            { ...second, ...(ours ? { providerData: { id: "c2" } } : {}) },
          ],
          provider,
        ),
        result("c1", { content: [], structured: { b: 2 } }),
        result("c2", { toolName: "g", isError: true }),
        user("next"),
      ];
    };
    const properties = { a: { type: "number" } };
    const tools = [tool("f", { type: "object", properties, required: ["a"] }), tool("g")];
    const options = {
      temperature: 0,
      topP: 1,
      maxOutputTokens: 9,
      seed: 7,
      stopSequences: ["END"],
      toolChoice: "auto",
      reasoningEffort: "high",
      responseSchema: { type: "object", properties },
    } as const;
    await own(server).chatStreaming(request({ messages: stored("gemini"), tools, options }), () => undefined);
    await judge(server).chatStreaming(
      request({ messages: stored("ai-sdk/google.generative-ai"), tools, options }),
      () => undefined,
    );
    const [ours, theirs] = server.requests.map(({ body }) => body) as [Body, Body];
    expect(ours["toolConfig"]).toEqual(theirs["toolConfig"]);
    expect(lower(ours["generationConfig"])).toEqual({
      ...lower(theirs["generationConfig"]),
      thinkingConfig: { includeThoughts: true, thinkingLevel: "high" },
    });
    const declared = (body: Body) =>
      (body["tools"] as [{ functionDeclarations: { name: string; parametersJsonSchema?: unknown }[] }])[0]
        .functionDeclarations;
    expect(declared(ours)[0]).toEqual(declared(theirs)[0]);
    expect(declared(ours).map(({ name }) => name)).toEqual(declared(theirs).map(({ name }) => name));
    const [, model] = ours["contents"] as [unknown, unknown];
    expect(model).toEqual((theirs["contents"] as unknown[])[1]);
    expect(calledBack(ours)).toEqual(calledBack(theirs));
  });
});

type Body = { readonly [key: string]: unknown };

/** The provider takes the level in capitals and in small letters. */
function lower(config: unknown): Body {
  return JSON.parse(JSON.stringify(config).replaceAll('"HIGH"', '"high"')) as Body;
}

function calledBack(body: Body): readonly unknown[] {
  const contents = body["contents"] as {
    readonly parts: readonly { readonly functionResponse?: { readonly id?: string; readonly name: string } }[];
  }[];
  return contents
    .flatMap(({ parts }) => parts)
    .flatMap(({ functionResponse: found }) => (found === undefined ? [] : [[found.id, found.name]]));
}
