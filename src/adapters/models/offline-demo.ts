import { ModelError } from "../../domain/errors.js";
import { type AssistantPart, textOf, type ToolCallPart, toolCallsOf } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ToolDef } from "../../domain/tool.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../ports/model.js";
import { answerFromResults, answerWithoutTools } from "./offline-demo/offline-answer.js";
import { type PlannedCall, planCall } from "./offline-demo/offline-tools.js";
import { wishesOf } from "./offline-demo/offline-wishes.js";

/** How the answer is handed out. */
export type OfflineDemoOptions = {
  /** Awaited between chunks; default: the next turn of the event loop, so that other work gets in between. */
  readonly pause?: (() => Promise<void>) | undefined;
};

const CHUNK = 12;

/**
 * A stand-in for trying the framework without a network: rules look for wishes in the last user message, pick tools of the request by
 * name, description and schema, and report the results in a following round. The same request always gives the same response; no
 * usage is reported, because nothing was counted. Every answer says that it is no language model.
 */
export class OfflineDemoModel implements ModelPort {
  readonly #pause: () => Promise<void>;

  constructor(options: OfflineDemoOptions = {}) {
    this.#pause = options.pause ?? (() => new Promise((resolve) => void setImmediate(resolve)));
  }

  describe(): ModelDescription {
    return { provider: "offline-demo", model: "rules", input: ["text"] };
  }

  async chat(request: ChatRequest): Promise<ModelResponse> {
    throwIfAborted(request.signal);
    const response = await Promise.resolve(respond(request));
    throwIfAborted(request.signal);
    return response;
  }

  async chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    const response = await this.chat(request);
    for (const chunk of chunksOf(response)) {
      onChunk(chunk);
      await this.#pause();
      throwIfAborted(request.signal);
    }
    return response;
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ModelError("aborted", "the turn was aborted", { cause: signal.reason });
}

function respond(request: ChatRequest): ModelResponse {
  const { messages } = request;
  const asked = messages.findLastIndex((message) => message.role === "user");
  const message = messages[asked];
  const text = message === undefined ? "" : textOf(message);
  const since = messages.slice(asked + 1);
  const planned = wishesOf(text).flatMap((wish) => planCall(wish, offered(request)) ?? []);
  const done = since.reduce((sum, reply) => sum + toolCallsOf(reply).length, 0);
  const open = planned.slice(done, request.options.parallelToolCalls === false ? done + 1 : undefined);
  if (open.length > 0) return callResponse(open, messages.length);
  const answer = since.some((reply) => reply.role === "tool")
    ? answerFromResults(since)
    : answerWithoutTools(text, messages.slice(0, Math.max(0, asked)), request.tools);
  return response([{ type: "text", text: answer }], "stop");
}

/** The tools that `toolChoice` leaves. */
function offered({ tools, options }: ChatRequest): readonly ToolDef[] {
  const choice = options.toolChoice ?? "auto";
  if (choice === "none") return [];
  return typeof choice === "object" ? tools.filter((tool) => tool.name === choice.tool) : tools;
}

function callResponse(planned: readonly PlannedCall[], position: number): ModelResponse {
  const names = planned.map(({ tool }) => tool.name).join(" and ");
  const calls = planned.map(
    ({ tool, args }, index): ToolCallPart => ({
      type: "toolCall",
      // The position in the conversation keeps ids apart between rounds.
      id: `offline_${position}_${index}`,
      name: tool.name,
      arguments: args,
    }),
  );
  return response([{ type: "text", text: `I ask ${names}.` }, ...calls], "tool-calls");
}

function response(parts: readonly AssistantPart[], finishReason: "stop" | "tool-calls"): ModelResponse {
  return { parts, finishReason, model: "rules", provider: "offline-demo" };
}

function* chunksOf({ parts, finishReason }: ModelResponse): Generator<StreamChunk> {
  let index = 0;
  for (const part of parts) {
    if (part.type === "text") {
      for (const text of piecesOf(part.text)) yield { type: "textDelta", text };
    } else if (part.type === "toolCall") {
      yield { type: "toolCallDelta", index, id: part.id, name: part.name };
      for (const argumentsDelta of piecesOf(JSON.stringify(part.arguments)))
        yield { type: "toolCallDelta", index, argumentsDelta };
      index += 1;
    }
  }
  yield { type: "finish", reason: finishReason };
}

function piecesOf(text: string): readonly string[] {
  const points = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < points.length; at += CHUNK) pieces.push(points.slice(at, at + CHUNK).join(""));
  return pieces;
}
