import {
  proxyHandler,
  type ProxyHandlerOptions,
  proxyModel,
  type ProxyModelOptions,
} from "../../../src/adapters/models/proxy.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../../src/ports/model.js";
import type { WebHandler } from "./web-server.js";

export const TOKEN = "token-of-the-client";

/** A handler that lets `TOKEN` in. */
export function handlerOf(model: ModelPort, options: Partial<ProxyHandlerOptions> = {}): WebHandler {
  return proxyHandler({ model, authorize: (token) => token === TOKEN, ...options });
}

/** A client whose `fetch` is the handler itself: no socket between them. */
export function direct(handler: WebHandler, options: Partial<ProxyModelOptions> = {}): ModelPort {
  return proxyModel({
    proxyUrl: "http://proxy.test/model",
    authToken: TOKEN,
    fetch: (url, init) => handler(new Request(url, init)),
    ...options,
  });
}

/** The bytes with which a handler answers one request, and the request itself. */
export async function replyOf(model: ModelPort, ask: (client: ModelPort) => Promise<unknown>): Promise<Uint8Array> {
  const handler = handlerOf(model);
  let bytes = new Uint8Array();
  const recording: WebHandler = async (request) => {
    const response = await handler(request);
    bytes = new Uint8Array(await response.arrayBuffer());
    return new Response(bytes, { headers: response.headers });
  };
  await ask(direct(recording));
  return bytes;
}

/** Chunks of every kind, with what is easily lost on the way. */
export const HARD_CHUNKS: readonly StreamChunk[] = [
  { type: "usage", usage: { inputTokens: 7 } },
  { type: "textDelta", text: "void" },
  { type: "reset", reason: "retry" },
  { type: "usage", usage: { inputTokens: 9, cachedInputTokens: 0 } },
  {
    type: "reasoningDelta",
    text: "hm\n\u2028",
    part: 0,
    providerData: JSON.parse('{"__proto__":{"a":1},"b":[null,1e-7]}'),
  },
  { type: "reasoningDelta", text: "", part: 0, signature: "c2ln" },
  { type: "reasoningDelta", text: "", part: 1, redacted: true, signature: "Y2lwaGVy" },
  { type: "textDelta", text: "half a pair \ud83d", part: 2 },
  { type: "textDelta", text: "\ude00, and alone \udc00", part: 2, providerData: "opaque" },
  { type: "textDelta", text: "beside", part: 3 },
  { type: "toolCallDelta", index: 0, id: "c1", name: "search", argumentsDelta: '{"id":' },
  { type: "toolCallDelta", index: 1, id: "c2", name: "cut", argumentsDelta: '{"a' },
  { type: "toolCallDelta", index: 0, argumentsDelta: "12345678901234567890}", providerData: { sig: "s" } },
  { type: "usage", usage: { outputTokens: 3, reasoningTokens: 2, totalTokens: 12 } },
  { type: "finish", reason: "tool-calls", rawReason: "tool_use" },
];
