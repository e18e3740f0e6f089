import { ModelError } from "../../../src/domain/errors.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { StreamAccumulator } from "../../../src/domain/stream.js";
import type { ToolDef } from "../../../src/domain/tool.js";
import type { ChatRequest, ModelPort } from "../../../src/ports/model.js";
import { OpenAiChatModel, type OpenAiChatOptions } from "../../../src/adapters/models/openai-chat.js";

/** A user's question, as a request. */
export function request(fields: Partial<ChatRequest> = {}): ChatRequest {
  return {
    messages: [user("hello")],
    tools: [],
    options: {},
    signal: new AbortController().signal,
    sessionId: "s1",
    turnId: "t1",
    round: 0,
    ...fields,
  };
}

export function user(text: string): Message {
  return { role: "user", id: "u", at: 0, content: [{ type: "text", text }] };
}

export function tool(name: string, inputSchema: ToolDef["inputSchema"] = { type: "object", properties: {} }): ToolDef {
  return { name, description: `does ${name}`, inputSchema };
}

/** What a reply comes down to; `chunks` must add up to the same response, or this throws. */
export type Outcome = {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly (readonly [id: string, name: string, argumentsOrReason: unknown])[];
  readonly finish?: string;
  readonly usage?: ModelResponse["usage"];
  readonly error?: string;
  readonly message?: string;
  readonly partialText?: string;
};

export function streamed(options: Partial<OpenAiChatOptions>, asked = request()): Promise<Outcome> {
  return streamedBy(new OpenAiChatModel({ model: "m1", ...options }), asked);
}

export function whole(options: Partial<OpenAiChatOptions>, asked = request()): Promise<Outcome> {
  return wholeBy(new OpenAiChatModel({ model: "m1", ...options }), asked);
}

/** What a streamed call of any model comes down to. */
export async function streamedBy(model: ModelPort, asked = request()): Promise<Outcome> {
  const chunks: StreamChunk[] = [];
  try {
    if (model.chatStreaming === undefined) throw new Error("the model does not stream");
    const response = await model.chatStreaming(asked, (chunk) => chunks.push(chunk));
    assertSame(response, chunks);
    return describe(response);
  } catch (error) {
    return describeError(error);
  }
}

/** What a call without streaming comes down to. */
export async function wholeBy(model: ModelPort, asked = request()): Promise<Outcome> {
  try {
    return describe(await model.chat(asked));
  } catch (error) {
    return describeError(error);
  }
}

function assertSame(response: ModelResponse, chunks: readonly StreamChunk[]): void {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  const { parts, usage } = accumulator.toResponse({ malformed: "mark" });
  const same = JSON.stringify({ parts, usage }) === JSON.stringify({ parts: response.parts, usage: response.usage });
  const finishes = chunks.filter(({ type }) => type === "finish").length;
  if (!same || finishes !== 1) throw new Error("the chunks do not add up to the response");
}

function describe(response: ModelResponse): Outcome {
  const { parts } = response;
  const reasoning = parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  const calls = parts.flatMap((part) =>
    part.type === "toolCall" ? [[part.id, part.name, part.malformed?.reason ?? part.arguments] as const] : [],
  );
  return {
    text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { calls }),
    finish: response.finishReason,
    ...(response.usage === undefined ? {} : { usage: response.usage }),
  };
}

function describeError(error: unknown): Outcome {
  if (!(error instanceof ModelError)) throw error;
  const text = (error.partial ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
  return { error: error.kind, message: error.message, ...(text === "" ? {} : { partialText: text }) };
}

/** A `fetch` whose body comes in exactly these pieces. */
export function fetchOf(list: readonly Uint8Array[], headers: Record<string, string> = {}): typeof globalThis.fetch {
  return () =>
    Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            for (const piece of list) if (piece.length > 0) controller.enqueue(piece);
            controller.close();
          },
        }),
        { headers },
      ),
    );
}
