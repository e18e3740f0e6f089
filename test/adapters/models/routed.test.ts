import { describe, expect, it } from "vitest";
import { asksFor, hasImages, largerThan, type ModelRoute, routed } from "../../../src/adapters/models/decorators.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { modelStep, ScriptedModel, stopResponse, textStream } from "../../../src/testkit/index.js";
import { request, user } from "./chat-outcome.js";
import { chat, stream, wholeOnly } from "./decorated-call.js";

const says = (answer: string, times = 1) =>
  new ScriptedModel(Array.from({ length: times }, () => modelStep.stream(textStream(answer))));

const picture: Message = {
  role: "tool",
  id: "t",
  at: 0,
  toolCallId: "c1",
  toolName: "look",
  content: [{ type: "image", source: { url: "https://example.test/a.png" }, mimeType: "image/png" }],
  isError: false,
  outcome: "completed",
};

describe("routed", () => {
  it("sends a request to the first route that takes it, else to the other model, streaming or not", async () => {
    for (const ask of [stream, chat]) {
      const routes: ModelRoute[] = [
        { when: hasImages, to: says("vision") },
        { when: largerThan(1000), to: says("long") },
        { when: asksFor("fast", "faster"), to: says("fast") },
      ];
      const model = routed(routes, says("plain"));
      const cases = [
        ["vision", { messages: [user("x".repeat(8000)), picture] }],
        ["long", { messages: [user("x".repeat(8000))], options: { model: "fast" } }],
        ["fast", { options: { model: "faster" } }],
        ["plain", { options: { model: "other" } }],
      ] as const;
      for (const [answer, fields] of cases)
        expect((await ask(model, request(fields))).response).toEqual(stopResponse(answer));
    }
  });

  it("hands the request on as it is, or with the route's options over its own", async () => {
    const seen: unknown[] = [];
    const to: ModelPort = { chat: (asked) => (seen.push(asked), Promise.resolve(stopResponse("ok"))) };
    const asked = request({ options: { model: "fast", temperature: 1 } });
    await chat(routed([{ when: () => true, to }], to), asked);
    await chat(routed([{ when: () => true, to, options: { model: undefined, maxOutputTokens: 5 } }], to), asked);
    expect(seen[0]).toBe(asked);
    expect(seen[1]).toEqual({ ...asked, options: { model: undefined, temperature: 1, maxOutputTokens: 5 } });
  });

  it("streams where any model does, and describes itself as the other model", async () => {
    const otherwise = new ScriptedModel([], { model: "plain" });
    const model = routed([{ when: () => true, to: wholeOnly(says("whole")) }], otherwise);
    expect(model.describe?.()).toEqual(otherwise.describe());
    expect((await stream(model)).response).toEqual(stopResponse("whole"));
    expect(routed([], wholeOnly(otherwise))).not.toHaveProperty("chatStreaming");
  });

  it("fails a request for which a route throws, and sends it nowhere", async () => {
    const cause = new Error("no idea");
    const unused = new ScriptedModel();
    const when = (): boolean => {
      throw cause;
    };
    const { error } = await stream(routed([{ when, to: unused }], unused));
    expect(error).toMatchObject({ kind: "request-build", retryable: false, cause });
    expect(unused.callCount).toBe(0);
  });

  it("refuses routes that are none", () => {
    const model = new ScriptedModel();
    for (const routes of [undefined, [{}], [{ when: hasImages }]]) {
      expect(() => routed(routes as unknown as ModelRoute[], model)).toThrow("invalid-config");
    }
  });
});

describe("hasImages", () => {
  const holding = (content: unknown) =>
    hasImages(request({ messages: [user("hi"), { ...picture, content } as unknown as Message] }));

  it("holds for a picture in either of its forms", () => {
    const source = { base64: "iVBORw0KGgo=" };
    expect(holding([{ type: "image", source, mimeType: "image/png" }])).toBe(true);
    expect(holding([{ type: "file", source, mimeType: "image/png" }])).toBe(true);
    expect(holding([{ type: "file", source, mimeType: "IMAGE/PNG; q=1" }])).toBe(true);
    expect(holding([{ type: "file", source, mimeType: "application/pdf" }])).toBe(false);
  });

  it("does not hold, and does not throw, for what older sessions hold", () => {
    expect(hasImages(request({ messages: [null, 7] as never }))).toBe(false);
    for (const content of ["only text", undefined, null, [null], [{ type: "file" }], [7]]) {
      expect(holding(content)).toBe(false);
    }
  });
});
