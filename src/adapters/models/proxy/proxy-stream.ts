import { type Json, sameJson } from "../../../domain/json.js";
import type { ModelResponse } from "../../../domain/model.js";
import { StreamAccumulator } from "../../../domain/stream.js";
import type { ChatRequest, ModelPort } from "../../../ports/model.js";
import { askModel } from "../decorators/decorated-model.js";
import type { DecoratorRuntime } from "../common/decorator-runtime.js";
import { chunkLine, doneLine, errorLine, FIRST_LINE, toldError } from "./proxy-lines.js";

/** A call to be answered line by line. */
export type ProxiedCall = {
  readonly model: ModelPort;
  readonly request: ChatRequest;
  readonly stream: boolean;
  /** Each of them ends the call. */
  readonly signals: readonly AbortSignal[];
  readonly maxUnreadBytes: number;
  readonly keepAliveMs: number;
  readonly runtime: DecoratorRuntime;
  readonly onFailure: ((error: unknown) => void) | undefined;
};

/**
 * Makes the call and gives its reply as it comes: each chunk is in the stream before the model goes on. Cancelling the stream aborts the
 * call, and so does a reader that leaves more than `maxUnreadBytes` unread. No listener is left on the signals.
 */
export function replyStream(call: ProxiedCall): ReadableStream<Uint8Array> {
  const abort = new AbortController();
  const lines = new LineWriter(abort);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        lines.open(controller);
        void answer(call, lines, abort);
      },
      cancel: () => lines.abandon(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: call.maxUnreadBytes }),
  );
}

async function answer(call: ProxiedCall, lines: LineWriter, abort: AbortController): Promise<void> {
  const stop = (): void => abort.abort();
  for (const signal of call.signals) {
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  }
  lines.write(FIRST_LINE);
  let cancelBeat = (): void => undefined;
  const beat = (): void => {
    cancelBeat = call.runtime.after(call.keepAliveMs, () => {
      lines.write("");
      beat();
    });
  };
  beat();
  try {
    lines.write(await lastLine(call, lines, abort.signal));
  } catch (error) {
    lines.write(errorLine(toldError(error)));
    call.onFailure?.(error);
  } finally {
    cancelBeat();
    for (const signal of call.signals) signal.removeEventListener("abort", stop);
    lines.close();
  }
}

async function lastLine(
  { model, request, stream }: ProxiedCall,
  lines: LineWriter,
  signal: AbortSignal,
): Promise<string> {
  const own = { ...request, signal };
  if (!stream) return doneLine(await askModel(model, own, undefined));
  const accumulator = new StreamAccumulator();
  const response = await askModel(model, own, (chunk) => {
    accumulator.push(chunk);
    lines.write(chunkLine(chunk));
  });
  const { parts, ...rest } = response;
  return doneLine(isSum(accumulator, parts) ? rest : response);
}

/** Whether the client can make the parts of what it was sent. */
function isSum(accumulator: StreamAccumulator, parts: ModelResponse["parts"]): boolean {
  return sameJson(accumulator.partial().parts as unknown as Json, parts as unknown as Json);
}

/** Writes lines to a reader who may be slow or gone. */
class LineWriter {
  readonly #abort: AbortController;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(abort: AbortController) {
    this.#abort = abort;
  }

  open(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  /** Writes nothing once it is closed. */
  write(line: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    controller.enqueue(this.#encoder.encode(`${line}\n`));
    if ((controller.desiredSize ?? 0) >= 0) return;
    controller.error(new Error("the client does not read its reply"));
    this.abandon();
  }

  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }

  /** Nobody reads any more. */
  abandon(): void {
    this.#controller = undefined;
    this.#abort.abort();
  }
}
