import { ModelError } from "../../../domain/errors.js";
import type { AssistantPart } from "../../../domain/message.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { Usage } from "../../../domain/usage.js";
import { toMetadata } from "./ai-sdk-metadata.js";
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "./ai-sdk-types.js";
import { encodeJson } from "../wire/wire-json.js";

/** A reply as content of the AI SDK. The text of a malformed call goes out as it is, for the caller to refuse. */
export function contentOf(response: ModelResponse): LanguageModelV4Content[] {
  return response.parts.map((part): LanguageModelV4Content => {
    const metadata = toMetadata(part, response.provider);
    const extras = metadata === undefined ? undefined : { providerMetadata: metadata };
    if (part.type !== "toolCall") return { type: part.type, text: part.text, ...extras };
    return { type: "tool-call", toolCallId: part.id, toolName: part.name, input: inputOf(part), ...extras };
  });
}

function inputOf(part: Extract<AssistantPart, { type: "toolCall" }>): string {
  return part.malformed?.raw ?? part.raw ?? encodeJson(part.arguments);
}

/** Why a reply ended, in the SDK's words. */
export function finishOf({ finishReason, rawFinishReason }: ModelResponse): LanguageModelV4FinishReason {
  const unified = {
    stop: "stop",
    length: "length",
    "tool-calls": "tool-calls",
    "content-filter": "content-filter",
    refusal: "content-filter",
    aborted: "other",
    other: "other",
  } as const;
  return { unified: unified[finishReason], raw: rawFinishReason ?? finishReason };
}

/** Usage in the SDK's form; unknown stays unknown. */
export function usageOf(usage: Usage = {}): LanguageModelV4Usage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const rest = (whole: number | undefined, ...parts: readonly (number | undefined)[]): number | undefined => {
    const known = parts.filter((part) => part !== undefined);
    if (whole === undefined || known.length === 0) return undefined;
    return Math.max(
      0,
      known.reduce((left, part) => left - part, whole),
    );
  };
  return {
    inputTokens: {
      total: inputTokens,
      noCache: rest(inputTokens, cachedInputTokens, cacheWriteTokens),
      cacheRead: cachedInputTokens,
      cacheWrite: cacheWriteTokens,
    },
    outputTokens: { total: outputTokens, text: rest(outputTokens, reasoningTokens), reasoning: reasoningTokens },
  };
}

/**
 * Turns the chunks of one reply into parts of the SDK's stream: text and reasoning as they come, calls whole at the end. Throws for a
 * reset after output, since what the SDK has shown cannot be taken back.
 */
export class OutgoingStream {
  readonly #send: (part: LanguageModelV4StreamPart) => void;
  readonly #open = new Map<string, string>();
  /** The block opened last: what a delta without `part` continues. */
  #last: { readonly type: "text" | "reasoning"; readonly id: string } | undefined;
  #count = 0;

  constructor(send: (part: LanguageModelV4StreamPart) => void) {
    this.#send = send;
  }

  chunk(chunk: StreamChunk): void {
    if (chunk.type === "textDelta") this.#text("text", chunk.text, chunk.part);
    else if (chunk.type === "reasoningDelta") this.#text("reasoning", chunk.text, chunk.part);
    else if (chunk.type === "toolCallDelta") this.#last = undefined;
    else if (chunk.type === "reset" && this.#count > 0) {
      throw new ModelError("response-parse", "the reply was begun anew after a part of it was shown", {
        retryable: true,
      });
    }
  }

  /** Ends what is open, and sends what only the whole reply tells. */
  end(response: ModelResponse): void {
    const opened = [...this.#open.values()];
    const ids = { text: [...opened], reasoning: [...opened] };
    for (const part of contentOf(response)) {
      if (part.type === "text" || part.type === "reasoning") this.#endText(part, ids[part.type]);
      else if (part.type === "tool-call") this.#call(part);
    }
    for (const id of this.#open.values())
      this.#send({ type: id.startsWith("text") ? "text-end" : "reasoning-end", id });
    this.#send({
      type: "response-metadata",
      ...(response.model === undefined ? undefined : { modelId: response.model }),
    });
    this.#send({ type: "finish", usage: usageOf(response.usage), finishReason: finishOf(response) });
  }

  #text(type: "text" | "reasoning", delta: string, part: number | undefined): void {
    const known = part === undefined ? undefined : this.#open.get(`${type} ${part}`);
    const last = this.#last?.type === type && part === undefined ? this.#last.id : undefined;
    const id = known ?? last ?? this.#start(type, part);
    this.#last = { type, id };
    if (delta !== "") this.#send({ type: `${type}-delta`, id, delta });
  }

  #start(type: "text" | "reasoning", part: number | undefined): string {
    const id = `${type}-${this.#count++}`;
    this.#open.set(part === undefined ? id : `${type} ${part}`, id);
    this.#send({ type: `${type}-start`, id });
    return id;
  }

  /** Blocks are in the order in which they were opened, as the parts of the reply are. */
  #endText(part: Extract<LanguageModelV4Content, { type: "text" | "reasoning" }>, ids: string[]): void {
    const at = ids.findIndex((id) => id.startsWith(part.type));
    const [id] = at < 0 ? [] : ids.splice(at, 1);
    const ended = id ?? this.#start(part.type, undefined);
    if (id === undefined && part.text !== "") this.#send({ type: `${part.type}-delta`, id: ended, delta: part.text });
    for (const [key, open] of this.#open) if (open === ended) this.#open.delete(key);
    const extras = part.providerMetadata === undefined ? undefined : { providerMetadata: part.providerMetadata };
    this.#send({ type: `${part.type}-end`, id: ended, ...extras });
  }

  #call(part: Extract<LanguageModelV4Content, { type: "tool-call" }>): void {
    const { toolCallId: id, toolName, input } = part;
    this.#send({ type: "tool-input-start", id, toolName });
    this.#send({ type: "tool-input-delta", id, delta: input });
    this.#send({ type: "tool-input-end", id });
    this.#send(part);
  }
}
