import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { request, streamedBy } from "./chat-outcome.js";

const streaming = (parts: readonly object[], more: object = {}) =>
  new AiSdkModel({
    model: {
      specificationVersion: "v4",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream: () =>
        Promise.resolve({
          ...more,
          stream: new ReadableStream({
            start(controller) {
              for (const part of parts) controller.enqueue(part);
              controller.close();
            },
          }),
        }),
    } as never,
  });
const FINISH = { type: "finish", finishReason: { unified: "tool-calls", raw: "x" }, usage: {} };

describe("a failure behind the beginning of a stream of the AI SDK", () => {
  const parts = [
    { type: "response-metadata", id: "resp-7" },
    { type: "error", error: { message: "Overloaded" } },
  ];

  it("bears the id of the reply", async () => {
    await expect(streaming(parts).chatStreaming(request(), () => undefined)).rejects.toMatchObject({
      requestId: "resp-7",
    });
  });

  it("bears the id of the request where the answer's headers have one", async () => {
    const model = streaming(parts, { response: { headers: { "x-request-id": "req-9" } } });
    await expect(model.chatStreaming(request(), () => undefined)).rejects.toMatchObject({ requestId: "req-9" });
  });
});

describe("a call whose pieces had no name", () => {
  it("has the name that the whole call tells, once", async () => {
    const pieces = [
      { type: "tool-input-start", id: "c1" },
      { type: "tool-input-delta", id: "c1", delta: '{"a":1}' },
    ];
    const whole = { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":1}' };
    const outcome = { calls: [["c1", "f", { a: 1 }]], finish: "tool-calls" };
    expect(await streamedBy(streaming([...pieces, whole, FINISH]))).toMatchObject(outcome);
    const named = [{ type: "tool-input-start", id: "c1", toolName: "f" }, ...pieces.slice(1)];
    expect(await streamedBy(streaming([...named, whole, FINISH]))).toMatchObject(outcome);
  });
});
