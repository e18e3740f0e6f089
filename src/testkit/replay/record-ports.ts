import { systemRuntime } from "../../agent/system-runtime.js";
import { copyJson } from "../../domain/adopt.js";
import type { Json, JsonObject } from "../../domain/json.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../ports/model.js";
import type { Runtime } from "../../ports/runtime.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import { faced } from "../faced.js";
import { ASKS, recordedTools } from "./record-tools.js";
import { openTarget, type RecordingTarget } from "./recording-file.js";
import { RECORDING_VERSION, type RecordedEnd, type RecordingHead, type RecordingLine } from "./recording-line.js";
import { Recorder } from "./recorder.js";
import { Scrubber } from "./scrubber.js";

/** What can be recorded; other parts of an agent pass untouched. */
export type RecordablePorts = { readonly model: ModelPort; readonly tools?: readonly ToolProvider[] | undefined };

/** How a recording is made. */
export type RecordOptions = {
  /** Texts that may not be in the file, in whatever disguise; what has the shape of a secret is left out anyway. Four characters at least. */
  readonly secrets?: readonly string[] | undefined;
  /** Replaces a file that is there. */
  readonly replace?: boolean | undefined;
  /** Whose time is recorded; default the system's. */
  readonly runtime?: Pick<Runtime, "elapsed"> | undefined;
};

/** Ports that record what passes. */
export type Recording<P> = {
  /** The same parts, for an agent; model and tools record. */
  readonly ports: P;
  /** Writes what is left, calls that still run as open ones, and closes the file; what comes later passes unrecorded. Rejects with `RecordingError` where a line could not be written. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Records what model and tools are asked and what they answer: chunks as they were cut and when they came, errors with all they tell, progress,
 * listings. One line a call, written when it ends. Secrets are taken out before anything is written.
 */
export async function recordPorts<P extends RecordablePorts>(
  ports: P,
  file: RecordingTarget,
  options: RecordOptions = {},
): Promise<Recording<P>> {
  const scrubber = new Scrubber(options.secrets);
  const sink = await openTarget(file, { replace: options.replace === true });
  const recorder = new Recorder(sink, scrubber, options.runtime ?? systemRuntime());
  recorder.head(headOf(ports));
  const tools = (ports.tools ?? []).map((provider, index) => recordedTools(provider, index, recorder));
  const recorded = {
    ...ports,
    model: recordedModel(ports.model, recorder),
    ...(ports.tools === undefined ? {} : { tools }),
  };
  const close = (): Promise<void> => recorder.close();
  return { ports: recorded, close, [Symbol.asyncDispose]: close };
}

function headOf({ model, tools = [] }: RecordablePorts): RecordingHead {
  const description = model.describe?.();
  return {
    type: "recording",
    version: RECORDING_VERSION,
    model: {
      streaming: model.chatStreaming !== undefined,
      ...(description === undefined ? {} : { description: description as unknown as JsonObject }),
    },
    providers: tools.map((provider) => ({
      ...(provider.name === undefined ? undefined : { name: provider.name }),
      ...(provider.optional === undefined ? undefined : { optional: provider.optional }),
      ...(provider.trustAnnotations === undefined ? undefined : { trustAnnotations: provider.trustAnnotations }),
      asks: [...ASKS, "onToolsChanged" as const].filter((ask) => provider[ask] !== undefined),
    })),
  };
}

function recordedModel(model: ModelPort, recorder: Recorder): ModelPort {
  let calls = 0;
  const streaming = model.chatStreaming?.bind(model);
  const record = async (request: ChatRequest, onChunk?: ChunkListener): Promise<unknown> => {
    const call = calls++;
    const { messages, tools, options, requestContext, round } = request;
    const asked = copyJson({ messages, tools, options, requestContext }, "request") as JsonObject;
    const chunks: [number, StreamChunk][] = [];
    const began = recorder.begin();
    const line = (end: RecordedEnd): RecordingLine => {
      const scrubbed = recorder.scrubber.chunks(chunks.map(([, chunk]) => chunk));
      const timed = chunks.map(([ms], index): [number, StreamChunk] => [ms, scrubbed[index] as StreamChunk]);
      return { type: "model", call, round, request: asked, chunks: timed, end };
    };
    const hear = (chunk: StreamChunk): void => {
      chunks.push([began.ms(), chunk]);
      onChunk?.(chunk);
    };
    return began.settle(
      () => (onChunk === undefined || streaming === undefined ? model.chat(request) : streaming(request, hear)),
      line,
      (response) => copyJson(response, "response") as Json,
    );
  };
  return faced(model, (key) => {
    if (key === "chat") return { value: (request: ChatRequest) => record(request) };
    return key === "chatStreaming" && streaming !== undefined ? { value: record } : undefined;
  });
}
