import { httpFailure } from "../wire/http-errors.js";
import { ModelFailure } from "../wire/model-failure.js";
import { transportFailure } from "../wire/read-text.js";

/**
 * The failure that something thrown by an application's own transport stands for. An error with an HTTP status, as clients of providers
 * throw, is judged like an answer with that status, its headers included; anything else is a broken connection. No text of it is quoted,
 * since nobody knows what an application puts there; the error itself is the cause.
 */
export function thrownFailure(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const { kind, message, details } = judged(error);
  return new ModelFailure(kind, message, { ...details, quote: undefined, cause: error });
}

/** Anything may be thrown, a proxy that can no longer be asked included. */
function judged(error: unknown): ModelFailure {
  try {
    const { status, statusCode } = Object(error) as { readonly status?: unknown; readonly statusCode?: unknown };
    const code = Number(status ?? statusCode);
    if (!(code >= 400 && code <= 599)) return transportFailure("the stream broke", error);
    return httpFailure(code, headersOf(error), bodyOf(error), Date.now());
  } catch {
    return new ModelFailure("transport", "the stream broke");
  }
}

function headersOf(error: unknown): Headers {
  const { headers } = Object(error) as { readonly headers?: Record<string, string> };
  try {
    return new Headers(typeof headers === "object" ? headers : undefined);
  } catch {
    return new Headers();
  }
}

/** What the error says, for recognising: the body that a client decoded, or its text. */
function bodyOf(thrown: unknown): string {
  const { error, body, message } = Object(thrown) as Readonly<Record<string, unknown>>;
  const told = error ?? body ?? message ?? "";
  return typeof told === "string" ? told : JSON.stringify({ error: told });
}
