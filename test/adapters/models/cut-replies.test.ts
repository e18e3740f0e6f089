import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { proxyModel } from "../../../src/adapters/models/proxy.js";
import { streamModel } from "../../../src/adapters/models/raw-stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { fetchOf, type Outcome, request, streamedBy } from "./chat-outcome.js";

const half: StreamChunk = { type: "textDelta", text: "Half" };

const aiSdk = new AiSdkModel({
  model: {
    specificationVersion: "v3",
    provider: "p",
    modelId: "m",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not asked for")),
    doStream: () =>
      Promise.resolve({
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: "text-delta", id: "0", delta: "Half" });
            controller.close();
          },
        }),
      }),
  },
});

describe("a stream that ends without a finish", () => {
  it.each<[string, ModelPort]>([
    [
      "of an application",
      streamModel(
        async function* () {
          yield await Promise.resolve(half);
        },
        { model: "m" },
      ),
    ],
    ["of the AI SDK", aiSdk],
  ])("may be whole the next time: %s", async (_, model) => {
    const call = model.chatStreaming?.(request(), () => undefined);
    await expect(call).rejects.toMatchObject({ kind: "response-parse", retryable: true, partial: [{ text: "Half" }] });
  });
});

describe("the reply of a proxy", () => {
  const FIRST = "ennead-model 1\n";
  const chunk = `${JSON.stringify(half)}\n`;
  const done = 'done {"reason":"stop"}\n';
  const wanted: Outcome = { text: "Half", finish: "stop" };
  const ask = async (body: string): Promise<Outcome> => {
    const bytes = Array.from(new TextEncoder().encode(body), (byte) => Uint8Array.of(byte));
    const proxyUrl = "http://unused.test/model";
    const outcome = await streamedBy(proxyModel({ proxyUrl, fetch: fetchOf([new TextEncoder().encode(body)]) }));
    expect(await streamedBy(proxyModel({ proxyUrl, fetch: fetchOf(bytes) })), "byte by byte").toEqual(outcome);
    return outcome;
  };

  it.each<[string, string]>([
    ["line ends of another system", (FIRST + chunk + done).replaceAll("\n", "\r\n")],
    ["blank lines in front", `\n\r\n${FIRST}${chunk}${done}`],
  ])("may have %s", async (_, body) => {
    expect(await ask(body)).toEqual(wanted);
  });

  it.each<[string, string, string]>([
    ["in its last line", FIRST + chunk + done.slice(0, -3), "transport"],
    ["at the end of its last line", FIRST + chunk + done.trimEnd(), "transport"],
  ])("is no success where it is cut %s", async (_, body, error) => {
    expect(await ask(body)).toMatchObject({ error, partialText: "Half" });
  });
});
