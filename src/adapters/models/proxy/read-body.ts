import { ModelError } from "../../../domain/errors.js";
import { platformRuntime } from "../common/decorator-runtime.js";
import { ModelFailure } from "../wire/model-failure.js";
import { readText } from "../wire/read-text.js";
import { RequestWatch } from "../wire/request-watch.js";

/** The body of a request to this server. Rejects with a `ModelError` that has a status where it is too long, too slow or cut off; the rest is not read. */
export async function readBody(http: Request, maxBytes: number, timeoutMs: number): Promise<string> {
  if (Number(http.headers.get("content-length")) > maxBytes) throw tooLong(maxBytes);
  const watch = new RequestWatch(http.signal, platformRuntime);
  let text = "";
  try {
    watch.expect(timeoutMs, "whole body");
    await readText(http, watch, maxBytes, (piece) => {
      text += piece;
    });
    return text;
  } catch (error) {
    if (error instanceof ModelFailure && error.kind === "response-parse") throw tooLong(maxBytes);
    if (error instanceof ModelFailure && error.kind === "timeout") {
      throw new ModelError("timeout", error.message, { status: 408 });
    }
    throw new ModelError("invalid-request", "the body was cut off", { status: 400, cause: error });
  } finally {
    watch.close();
  }
}

function tooLong(maxBytes: number): ModelError {
  return new ModelError("invalid-request", `the body is longer than ${maxBytes} bytes`, { status: 413 });
}
