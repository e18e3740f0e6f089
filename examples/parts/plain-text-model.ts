import { type ChatRequest, type ChunkListener, ModelError, type ModelPort, type ModelResponse, textOf } from "ennead";

/** How long a server may take for a whole answer. */
const TIMEOUT_MS = 120_000;

/** A server that is sent the conversation as JSON and answers with plain text, as it comes. */
export class PlainTextModel implements ModelPort {
  readonly #url: string;
  readonly #key: string;

  constructor(options: { readonly url: string; readonly key: string }) {
    this.#url = options.url;
    this.#key = options.key;
  }

  chat(request: ChatRequest): Promise<ModelResponse> {
    return this.chatStreaming(request, () => undefined);
  }

  async chatStreaming(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    let text = "";
    const parts = (): ModelResponse["parts"] => (text === "" ? [] : [{ type: "text", text }]);
    try {
      for await (const piece of await this.#ask(request)) {
        text += piece;
        onChunk({ type: "textDelta", text: piece });
      }
    } catch (error) {
      if (error instanceof ModelError) throw error;
      const partial = parts();
      if (request.signal.aborted) throw new ModelError("aborted", "the turn was aborted", { partial });
      throw new ModelError("transport", "the connection broke", { partial, cause: error });
    }
    onChunk({ type: "finish", reason: "stop" });
    return { parts: parts(), finishReason: "stop" };
  }

  async #ask({ messages, signal }: ChatRequest): Promise<AsyncIterable<string>> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}` },
      body: JSON.stringify(messages.map((message) => ({ role: message.role, text: textOf(message) }))),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const { ok, status, body } = response;
    // What a server says of an error may repeat the key: only its status is passed on.
    if (!ok)
      throw new ModelError(status === 401 ? "auth" : status === 429 ? "rate-limit" : "server", `status ${status}`);
    return body?.pipeThrough(new TextDecoderStream()) ?? new ReadableStream<string>();
  }
}
