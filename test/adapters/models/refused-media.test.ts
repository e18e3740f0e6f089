import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { Content } from "../../../src/domain/content.js";
import type { Message } from "../../../src/domain/message.js";
import { request, user } from "./chat-outcome.js";
import { streamedCompletion } from "./chat-replies.js";
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

const wires = [
  {
    wire: "chat",
    make: (baseUrl: string) => new OpenAiChatModel({ model: "m", baseUrl }),
    ok: streamedCompletion({ content: "ok" }, "stop"),
  },
  {
    wire: "responses",
    make: (baseUrl: string) => new OpenAiResponsesModel({ model: "m", baseUrl }),
    ok: streamOf([item.message("ok")]),
  },
];
const refused = (message: string): Answer => pieces([JSON.stringify({ error: { message } })], JSON_TYPE, 400);
const GONE = "Error while downloading https://x.test/gone.png.";

describe.each(wires)("an older picture that the provider refuses on the $wire wire", ({ make, ok }) => {
  it.each([GONE, "Invalid image.", "The image data you provided is not valid", "Unsupported file type"])(
    "does not poison the conversation: a note goes in its place: %s",
    async (message) => {
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
    },
  );

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
