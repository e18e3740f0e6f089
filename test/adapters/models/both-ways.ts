import { expect } from "vitest";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import { fetchOf, type Outcome, streamedBy, wholeBy } from "./chat-outcome.js";
import { loopback, pieces, SSE } from "./loopback.js";

const WIRES = {
  chat: OpenAiChatModel,
  responses: OpenAiResponsesModel,
  anthropic: AnthropicModel,
  gemini: GeminiModel,
};
export type Wire = keyof typeof WIRES;

type Way = { readonly stream?: boolean; readonly headers?: Record<string, string>; readonly status?: number };

/** What a body comes to on a wire, from a real server in one piece; one that comes byte by byte must come to the same. */
export async function bothWays(wire: Wire, body: string, way: Way = {}): Promise<Outcome> {
  const { stream = true, headers = SSE, status = 200 } = way;
  const Model = WIRES[wire];
  const ask = stream ? streamedBy : wholeBy;
  await using server = await loopback(pieces([body], headers, status));
  const outcome = await ask(new Model({ model: "m1", baseUrl: server.baseUrl }));
  if (status !== 200) return outcome;
  const bytes = Array.from(new TextEncoder().encode(body), (byte) => Uint8Array.of(byte));
  const slow = new Model({ model: "m1", baseUrl: "http://unused.test", fetch: fetchOf(bytes) });
  expect(await ask(slow), "byte by byte").toEqual(outcome);
  return outcome;
}
