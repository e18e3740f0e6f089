import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "../../domain/json.js";
import type { Message } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import { StreamAccumulator } from "../../domain/stream.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ChatRequest, ModelPort } from "../../ports/model.js";
import type { Claim, Fixture } from "./claim.js";
import { ClaimFailure, expectEqual } from "./expectations.js";

/** What is asked, where it matters; default: one user message, no tools, no options. */
export type SampleRequest = Partial<Pick<ChatRequest, "messages" | "tools" | "options">>;

/** What a model is asked so that it shows what it does. The same sample gives the same reply each time, also concurrently. */
export type ModelSamples = {
  /** Is answered with exactly this text, and no calls. */
  readonly text: SampleRequest & { readonly text: string };
  /** Is answered with these calls, in this order; needed for `calls`. */
  readonly calls?:
    | (SampleRequest & { readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[] })
    | undefined;
  /**
   * Is answered with calls of tools whose names no provider takes, such as `"files.read all"`; needed for `names`. The server must be asked
   * and answer under the name that was sent.
   */
  readonly named?:
    | (SampleRequest & { readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[] })
    | undefined;
  /** Is answered with this reasoning and a call; `echoed` are texts of the reply that must go back as they came. Needed for `reasoning`. */
  readonly reasoned?: (SampleRequest & { readonly reasoning: string; readonly echoed: readonly string[] }) | undefined;
  /** Is cut off by the limit of its output, behind this text; needed for `cut`. */
  readonly cut?: (SampleRequest & { readonly text: string }) | undefined;
  /** Is answered without any usage; needed for `uncounted`. */
  readonly uncounted?: SampleRequest | undefined;
  /** Has not been answered to its end when its first chunk comes, if one ever comes; needed for `abort`. */
  readonly slow?: SampleRequest | undefined;
  /** Fails before anything comes; needed for `failure`. */
  readonly failure?: SampleRequest | undefined;
  /** Breaks off after a piece of the reply; needed for `broken` and `partial`. */
  readonly broken?: SampleRequest | undefined;
};

/** A model with what the claims need to know of it. */
export type ModelPortFixture = Fixture & {
  readonly model: ModelPort;
  readonly samples: ModelSamples;
  /** Told which sample the next call asks for: for models and servers that play a script. */
  readonly prepare?: ((sample: keyof ModelSamples) => void) | undefined;
  /** The newest request as it was sent to what answers, as JSON text; needed for `sent` and `reasoning`. */
  readonly sent?: (() => string) | undefined;
  /** The key the model was given, which the answer to `failure` repeats; needed for `key`. */
  readonly key?: string | undefined;
  /** How soon after an abort a call must have settled; default 1000. */
  readonly deadlineMs?: number | undefined;
};

/** The optional members of the port, and what a model may have no way to show. */
export type ModelPortCapability =
  | "streaming"
  | "describe"
  | "calls"
  | "names"
  | "sent"
  | "reasoning"
  | "cut"
  | "uncounted"
  | "abort"
  | "failure"
  | "key"
  | "partial"
  | "broken";

/** A claim of `modelPortClaims`. */
export type ModelPortClaim = Claim<ModelPortFixture, ModelPortCapability>;

const HELLO: Message = { role: "user", id: "m0", at: 0, content: [{ type: "text", text: "hello" }] };

/** A request of its own for each call, with nothing shared that somebody could change. */
export function requestFor(sample: SampleRequest, signal: AbortSignal = new AbortController().signal): ChatRequest {
  const { messages = [HELLO], tools = [], options = {} } = sample;
  return { ...structuredClone({ messages, tools, options }), signal, sessionId: "claims", turnId: "turn-1", round: 0 };
}

/** The sample; a fixture that lacks it without saying so fails the claim. */
export function sampleOf<K extends keyof ModelSamples>(
  fixture: ModelPortFixture,
  name: K,
): NonNullable<ModelSamples[K]> {
  const sample = fixture.samples[name];
  if (sample === undefined) throw new ClaimFailure(`the fixture has no sample ${name} and does not declare it missing`);
  return sample;
}

/** The request after a reply to the sample: what was asked, the reply as it is stored, and a result for each of its calls. */
export function takenBack(sample: SampleRequest, reply: ModelResponse): ChatRequest {
  const { messages } = requestFor(sample);
  return requestFor({ ...sample, messages: [...messages, ...told(reply)] });
}

/** Asks for the sample at once; a synchronous throw becomes a rejection. */
export async function ask(
  fixture: ModelPortFixture,
  name: keyof ModelSamples,
  request: ChatRequest = requestFor(sampleOf(fixture, name)),
): Promise<ModelResponse> {
  fixture.prepare?.(name);
  return await fixture.model.chat(request);
}

/** A call that streams: its chunks so far, as they came and as the very objects that were given, and how it ends. */
export type Streaming = {
  readonly chunks: readonly StreamChunk[];
  readonly given: readonly StreamChunk[];
  readonly response: Promise<ModelResponse>;
};

/** Asks for the sample as a stream. `onFirst` is called at its first chunk, within the listener. */
export function askStreaming(
  fixture: ModelPortFixture,
  name: keyof ModelSamples,
  { request = requestFor(sampleOf(fixture, name)), onFirst }: { request?: ChatRequest; onFirst?: () => void } = {},
): Streaming {
  const chunks: StreamChunk[] = [];
  const given: StreamChunk[] = [];
  fixture.prepare?.(name);
  const start = async (): Promise<ModelResponse> => {
    const { model } = fixture;
    if (model.chatStreaming === undefined) {
      throw new ClaimFailure("the model has no chatStreaming and does not declare it missing");
    }
    return await model.chatStreaming(request, (chunk) => {
      chunks.push(structuredClone(chunk));
      given.push(chunk);
      if (chunks.length === 1) onFirst?.();
    });
  };
  return { chunks, given, response: start() };
}

/** Fails the claim when chunks still come some turns of the event loop later. */
export async function expectSilence(chunks: readonly StreamChunk[]): Promise<void> {
  const { length } = chunks;
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  expectEqual(chunks.length, length, "the number of chunks some turns of the event loop after the end");
}

/** The samples that are answered, as far as the fixture has them. */
export function shown({ samples }: ModelPortFixture): readonly (keyof ModelSamples)[] {
  return (["text", "calls", "named", "reasoned", "cut"] as const).filter((name) => samples[name] !== undefined);
}

/** The calls of a reply, as far as they are the model's own. */
export function callsOf({ parts }: Pick<ModelResponse, "parts">): readonly { name: string; arguments: JsonObject }[] {
  return parts.flatMap((part) => (part.type === "toolCall" ? [{ name: part.name, arguments: part.arguments }] : []));
}

/** All text of a reply. */
export function spoken({ parts }: Pick<ModelResponse, "parts">): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** What has come of a stream that may not have reached its end. */
export function soFar(chunks: readonly StreamChunk[]): Pick<ModelResponse, "parts"> {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.partial();
}

/** What the chunks of a stream come to. */
export function added(chunks: readonly StreamChunk[]): ModelResponse {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.toResponse({ malformed: "mark" });
}

/** The reply as it is stored, and a result for each of its calls. */
function told(reply: ModelResponse): readonly Message[] {
  const { parts, provider, model } = reply;
  const about = {
    ...(provider === undefined ? undefined : { provider }),
    ...(model === undefined ? undefined : { model }),
  };
  const message: Message = {
    role: "assistant",
    id: "m1",
    at: 0,
    parts: JSON.parse(JSON.stringify(parts)) as typeof parts,
    ...about,
  };
  const results = parts.flatMap((part, order): Message[] => {
    if (part.type !== "toolCall") return [];
    const content = [{ type: "text", text: "done" }] as const;
    const call = { toolCallId: part.id, toolName: part.name, isError: false, outcome: "completed" } as const;
    return [{ role: "tool", id: `m2.${order}`, at: 0, content, ...call }];
  });
  return [message, ...results];
}
