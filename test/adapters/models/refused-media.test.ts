import { UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { Content } from "../../../src/domain/content.js";
import { ModelError } from "../../../src/domain/errors.js";
import type { AssistantPart, Message } from "../../../src/domain/message.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { end, start, text as claudeText } from "./anthropic-wire.js";
import { request, user } from "./chat-outcome.js";
import { streamedCompletion } from "./chat-replies.js";
import { end as geminiEnd, text as geminiText } from "./gemini-wire.js";
import { type Answer, delta, event, JSON_TYPE, loopback, pieces } from "./loopback.js";
import { item, streamOf } from "./responses-wire.js";

const stamp = { id: "i", at: 0 };
const image: Content = { type: "image", source: { url: "https://x.test/gone.png" }, mimeType: "image/png" };
const file: Content = { type: "file", source: { base64: "QQ==" }, mimeType: "application/pdf", name: "a.pdf" };
const shown = (...content: readonly Content[]): Message => ({ role: "user", content, ...stamp });
const history: readonly Message[] = [
  shown({ type: "text", text: "see" }, image, file),
  { role: "assistant", parts: [{ type: "toolCall", id: "c1", name: "f", arguments: {} }], ...stamp },
  { role: "tool", toolCallId: "c1", toolName: "f", content: [image], isError: false, outcome: "completed", ...stamp },
  user("and now?"),
];

const acme = (baseURL: string) => createOpenAICompatible({ name: "acme", baseURL, apiKey: "k" })("m");
type Wire = {
  readonly wire: string;
  readonly make: (baseUrl: string) => ModelPort & Required<Pick<ModelPort, "chatStreaming">>;
  readonly ok: string;
  /** What the provider says of a piece of reasoning, and the piece in an earlier reply. */
  readonly sealed: string;
  readonly seal: AssistantPart;
};
const reasoning = { type: "reasoning", text: "hm" } as const;
const wires: readonly Wire[] = [
  {
    wire: "chat",
    make: (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl }),
    ok: streamedCompletion({ content: "ok" }, "stop"),
    sealed: "Thought signature is not valid",
    seal: { ...reasoning, providerData: { field: "reasoning_content", seal: "SEALED" }, text: "SEALED" },
  },
  {
    wire: "responses",
    make: (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl }),
    ok: streamOf([item.message("ok")]),
    sealed: "The encrypted content could not be verified.",
    seal: { ...reasoning, providerData: item.reasoning("SEALED") as never },
  },
  {
    wire: "anthropic",
    make: (baseUrl) => new AnthropicModel({ model: "m", baseUrl }),
    ok: start() + claudeText(0, "ok") + end(),
    sealed: "messages.1.content.0: Invalid `signature` in `thinking` block",
    seal: { ...reasoning, signature: "SEALED" },
  },
  {
    wire: "gemini",
    make: (baseUrl) => new GeminiModel({ model: "gemini-3-flash", baseUrl }),
    ok: geminiText("ok") + geminiEnd(),
    sealed: "Unable to submit request because Thought signature is not valid.",
    seal: { ...reasoning, providerData: { thoughtSignature: "SEALED" } },
  },
  {
    wire: "ai-sdk",
    make: (baseUrl) => new AiSdkModel({ model: acme(baseUrl) }),
    ok: streamedCompletion({ content: "ok" }, "stop"),
    sealed: "Invalid `signature` in `thinking` block",
    seal: { ...reasoning, text: "SEALED" },
  },
];
const refused = (message: string): Answer => pieces([JSON.stringify({ error: { message } })], JSON_TYPE, 400);
const GONE = "Error while downloading https://x.test/gone.png.";

describe.each(wires)("ids of calls that the provider refuses on the $wire wire", ({ make, ok }) => {
  it.each([
    "Tool call id was call_0123456789 but must be a-z, A-Z, 0-9, with a length of 9.",
    "Invalid tool_call_id: must be exactly 9 characters",
  ])("get a form it takes, the same in call and result, and those of its own stay: %s", async (message) => {
    await using server = await loopback((answer, seen, nth) => {
      (nth === 0 ? refused(message) : pieces([ok]))(answer, seen, nth);
    });
    const call = (id: string) => ({ type: "toolCall", id, name: "f", arguments: {} }) as const;
    const result = (toolCallId: string): Message => ({ ...history[2], toolCallId, content: [] }) as Message;
    const messages: readonly Message[] = [
      user("go"),
      { role: "assistant", parts: [call("call_0123456789"), call("Ab3dEf6hI")], ...stamp },
      ...[result("call_0123456789"), result("Ab3dEf6hI")],
      user("on"),
    ];
    await make(server.baseUrl).chatStreaming(request({ messages }), () => undefined);
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
    const ids = (text = ""): string[] => text.match(/(?<=id":")(?:call_0123456789|[a-zA-Z0-9]{9})(?=")/g) ?? [];
    const [a, b, ...rest] = ids(second);
    if (first?.includes("call_0123456789") === true) expect(second).not.toContain("call_0123456789");
    expect(rest).toEqual(a === undefined ? [] : [a, b]);
    expect(b === undefined || b === "Ab3dEf6hI").toBe(true);
  });
});

describe.each(wires)("an older picture that the provider refuses on the $wire wire", ({ make, ok, sealed, seal }) => {
  it("and a piece of reasoning are left out one after the other where both are refused, in any order", async () => {
    const messages = history.map((message) =>
      message.role === "assistant" ? { ...message, parts: [seal, ...message.parts] } : message,
    );
    for (const complaints of [
      [GONE, sealed],
      [sealed, GONE],
    ]) {
      await using server = await loopback((answer, seen, nth) => {
        const complaint = complaints[nth];
        (complaint === undefined ? pieces([ok]) : refused(complaint))(answer, seen, nth);
      });
      const { parts } = await make(server.baseUrl).chatStreaming(request({ messages }), () => undefined);
      expect(parts).toEqual([{ type: "text", text: "ok" }]);
      const sent = server.requests.map(({ body }) => JSON.stringify(body));
      expect(sent[0]).toMatch(/SEALED/);
      expect(sent[2]).not.toMatch(/SEALED|gone\.png|QQ==/);
      expect(sent).toHaveLength(3);
    }
  });

  it.each([
    GONE,
    "Unable to process input image. Please retry",
    "Cannot fetch content from the provided URL.",
    "Invalid image.",
    "The image data you provided is not valid",
    "Unsupported file type",
  ])("does not poison the conversation: a note goes in its place: %s", async (message) => {
    await using server = await loopback((answer, seen, nth) => {
      (nth === 0 ? refused(message) : pieces([ok]))(answer, seen, nth);
    });
    const { parts } = await make(server.baseUrl).chatStreaming(request({ messages: history }), () => undefined);
    expect(parts).toEqual([{ type: "text", text: "ok" }]);
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain("gone.png");
    expect(second).not.toMatch(/gone\.png|QQ==/);
    expect(second?.match(/An image that cannot be shown/g)).toHaveLength(2);
    expect(second).toContain("a.pdf");
  });

  it("is an error where it is what the user just sent, and where something else was refused", async () => {
    const newest = [user("hi"), shown(image)];
    for (const [messages, message] of [
      [newest, GONE],
      [history, "Unknown parameter: 'x'."],
    ] as const) {
      await using server = await loopback(refused(message));
      const call = make(server.baseUrl).chat(request({ messages }));
      await expect(call).rejects.toMatchObject({ kind: "invalid-request" });
      expect(server.requests).toHaveLength(1);
    }
  });

  it("is an error where it is refused again", async () => {
    await using server = await loopback(refused(GONE));
    const call = make(server.baseUrl).chat(request({ messages: history }));
    await expect(call).rejects.toMatchObject({ kind: "invalid-request" });
    expect(server.requests).toHaveLength(2);
  });

  it("and reasoning that stays refused end the call: each cure is tried once", async () => {
    const complaints = [GONE, sealed];
    await using server = await loopback((answer, seen, nth) => {
      refused(complaints[nth % 2] ?? "")(answer, seen, nth);
    });
    const messages = history.map((message) =>
      message.role === "assistant" ? { ...message, parts: [seal, ...message.parts] } : message,
    );
    const call = make(server.baseUrl).chat(request({ messages }));
    await expect(call).rejects.toMatchObject({ kind: "invalid-request" });
    expect(server.requests).toHaveLength(3);
  });
});

describe("a picture that is refused after output began", () => {
  it("is an error, since the reply cannot begin anew", async () => {
    const error = { type: "invalid_request_error", message: GONE };
    await using server = await loopback(pieces([delta({ content: "Half" }), event({ error })]));
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    await expect(model.chat(request({ messages: history }))).rejects.toMatchObject({ partial: [{ text: "Half" }] });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a file that nobody may read any more", () => {
  it("is left out of a second try: Gemini tells that a stored file has expired as a lack of permission", async () => {
    const gone = "You do not have permission to access the File abc123 or it may not exist.";
    await using server = await loopback((answer, seen, nth) => {
      if (nth > 0) return void pieces([geminiText("ok") + geminiEnd()])(answer, seen, nth);
      pieces([JSON.stringify({ error: { code: 403, message: gone, status: "PERMISSION_DENIED" } })], JSON_TYPE, 403)(
        answer,
        seen,
        nth,
      );
    });
    const model = new GeminiModel({ model: "gemini-3-flash", baseUrl: server.baseUrl });
    const reply = await model.chatStreaming(request({ messages: history }), () => undefined);
    expect(reply.parts).toEqual([{ type: "text", text: "ok" }]);
    expect(server.requests).toHaveLength(2);
  });

  it("leaves a key without permission an error at once", async () => {
    const body = JSON.stringify({ error: { code: 403, message: "The caller does not have permission" } });
    await using server = await loopback(pieces([body], JSON_TYPE, 403));
    const model = new GeminiModel({ model: "gemini-3-flash", baseUrl: server.baseUrl });
    await expect(model.chat(request({ messages: history }))).rejects.toMatchObject({ kind: "auth" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a file that a provider of the AI SDK does not take", () => {
  it("is left out of a second try, although it was refused before it was sent", async () => {
    const prompts: string[] = [];
    const model = new AiSdkModel({
      model: {
        specificationVersion: "v4",
        provider: "p",
        modelId: "m",
        supportedUrls: {},
        doGenerate: (call: { readonly prompt: unknown }) => {
          prompts.push(JSON.stringify(call.prompt));
          if (prompts.length === 1) {
            return Promise.reject(
              new UnsupportedFunctionalityError({ functionality: "file part media type application/zip" }),
            );
          }
          return Promise.resolve({ content: [{ type: "text", text: "ok" }], finishReason: "stop", usage: {} });
        },
      } as never,
    });
    expect((await model.chat(request({ messages: history }))).parts).toEqual([{ type: "text", text: "ok" }]);
    expect(prompts[0]).toContain("QQ==");
    expect(prompts[1]).not.toContain("QQ==");
  });
});

describe.each(wires)("a damaged session on the $wire wire", ({ make, ok, sealed }) => {
  const damaged = [null, 7, { role: "assistant" }, { role: "assistant", parts: [null, 7] }, { role: "user" }];

  it("keeps no refusal from being a ModelError, and no cure from what is whole", async () => {
    for (const message of [GONE, sealed]) {
      await using server = await loopback(refused(message));
      const call = make(server.baseUrl).chat(request({ messages: [...damaged, user("hi")] as never }));
      await expect(call).rejects.toBeInstanceOf(ModelError);
    }
    await using server = await loopback((answer, seen, nth) => {
      (nth === 0 ? refused(GONE) : pieces([ok]))(answer, seen, nth);
    });
    const messages = [...damaged, ...history] as never;
    const { parts } = await make(server.baseUrl).chatStreaming(request({ messages }), () => undefined);
    expect(parts).toEqual([{ type: "text", text: "ok" }]);
  });
});
