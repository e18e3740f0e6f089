import { CompositionError, ModelError, type ModelErrorKind } from "../../../domain/errors.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import type { ChatRequest, ModelPort } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { checkModels } from "../decorators/decorated-model.js";
import { type DecoratorRuntime, platformRuntime } from "../common/decorator-runtime.js";
import { PROXY_TYPE, toldError, type ToldError } from "./proxy-lines.js";
import { decodeProxyRequest } from "./proxy-request.js";
import { replyStream } from "./proxy-stream.js";
import { readBody } from "./read-body.js";
import { timeouts } from "../decorators/timeouts.js";

/** Whom a proxy lets in, what it lets through, and to which model. */
export type ProxyHandlerOptions = {
  /** Holds the keys. */
  readonly model: ModelPort;
  /**
   * Whether the bearer of this token may use the model. Asked before anything of the body is read; whatever it does but give true, throw
   * included, is the same refusal.
   */
  readonly authorize: (token: string, request: Request) => Awaitable<boolean>;
  /**
   * Decides what of a request goes to the model, and may reject with a `ModelError` that the client gets. Default: all of it but `model`,
   * `serviceTier` and `providerOptions`, by which a client could spend more than was meant.
   */
  readonly admit?: ((request: ChatRequest, http: Request) => Awaitable<ChatRequest>) | undefined;
  /** Default 32 MiB: pictures travel in the body. */
  readonly maxBodyBytes?: number | undefined;
  /** For the body to arrive, in milliseconds. Default 30,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** For one call, in milliseconds. Default 900,000. */
  readonly callTimeoutMs?: number | undefined;
  /** What may wait for a client that does not read, before its call is aborted. Default 16 MiB. */
  readonly maxUnreadBytes?: number | undefined;
  /** How often a blank line is sent, so that no server in between takes a model that thinks for a dead connection. Default 15,000. */
  readonly keepAliveMs?: number | undefined;
  /** Aborts every call, for a server that shuts down; clients get an error they may retry. */
  readonly signal?: AbortSignal | undefined;
  /** Told every failure but a token that is not let in, for the server's own log: of the model, of `authorize`, and of requests that are refused; must not throw. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** For `callTimeoutMs` and `keepAliveMs`. Default: the platform's clock and timers. */
  readonly runtime?: DecoratorRuntime | undefined;
};

const OPTION_NAMES = [
  "model",
  "authorize",
  "admit",
  "maxBodyBytes",
  "bodyTimeoutMs",
  "callTimeoutMs",
  "maxUnreadBytes",
  "keepAliveMs",
  "signal",
  "onFailure",
  "runtime",
] as const satisfies readonly (keyof ProxyHandlerOptions)[];

/**
 * Answers the requests of `proxyModel` in any server that speaks web-standard requests and responses; never rejects. A call ends as soon
 * as its client is gone. Errors of the model travel as they are, without their causes. Throws `CompositionError("invalid-config")` for
 * options that make no sense.
 */
export function proxyHandler(options: ProxyHandlerOptions): (request: Request) => Promise<Response> {
  const numbers = { maxBodyBytes: 1, bodyTimeoutMs: 1, callTimeoutMs: 1, maxUnreadBytes: 1, keepAliveMs: 1 };
  checkOptions("proxyHandler", options, OPTION_NAMES, numbers);
  checkModels("proxyHandler", [options.model]);
  if (typeof options.authorize !== "function") {
    throw new CompositionError("invalid-config", "proxyHandler needs a function authorize");
  }
  const { maxUnreadBytes = 16 * 1024 * 1024, callTimeoutMs = 900_000, signal, onFailure } = options;
  const { keepAliveMs = 15_000, runtime = platformRuntime } = options;
  const model = timeouts(options.model, { totalTimeoutMs: callTimeoutMs, runtime });

  return async (http) => {
    if (!(await isAllowed(http, options))) return refusal(401, { kind: "auth", message: "not allowed" });
    try {
      const call = await admitted(http, options);
      const signals = signal === undefined ? [http.signal] : [http.signal, signal];
      const body = replyStream({ ...call, model, signals, maxUnreadBytes, keepAliveMs, runtime, onFailure });
      return new Response(body, { headers: REPLY_HEADERS });
    } catch (error) {
      onFailure?.(error);
      return refusal(statusOf(error), toldError(error));
    }
  };
}

const REPLY_HEADERS = Object.freeze({
  "content-type": PROXY_TYPE,
  "cache-control": "no-store",
  // Some servers in between collect a reply before they pass it on, unless told not to.
  "x-accel-buffering": "no",
});

/** Anything but true is no. */
async function isAllowed(http: Request, { authorize, onFailure }: ProxyHandlerOptions): Promise<boolean> {
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(http.headers.get("authorization") ?? "")?.[1];
  if (token === undefined) return false;
  try {
    return (await authorize(token, http)) === true;
  } catch (error) {
    onFailure?.(error);
    return false;
  }
}

/** A request as it may go to the model. */
async function admitted(
  http: Request,
  { admit, maxBodyBytes = 32 * 1024 * 1024, bodyTimeoutMs = 30_000 }: ProxyHandlerOptions,
): Promise<{ readonly stream: boolean; readonly request: ChatRequest }> {
  if (http.method !== "POST") throw new ModelError("invalid-request", "only POST is answered", { status: 405 });
  const { stream, request } = decodeProxyRequest(await readBody(http, maxBodyBytes, bodyTimeoutMs));
  const asked = { ...request, signal: http.signal };
  return { stream, request: admit === undefined ? withoutSpending(asked) : await admit(asked, http) };
}

function withoutSpending(request: ChatRequest): ChatRequest {
  const { model: _model, serviceTier: _tier, providerOptions: _more, ...options } = request.options;
  return { ...request, options };
}

/** Statuses of refusals that name none themselves. */
const STATUSES: Readonly<Partial<Record<ModelErrorKind, number>>> = {
  "invalid-request": 400,
  auth: 403,
  "rate-limit": 429,
  overloaded: 503,
};

function statusOf(error: unknown): number {
  if (!(error instanceof ModelError)) return 500;
  const { status = STATUSES[error.kind] ?? 500 } = error;
  return status >= 400 && status <= 599 ? status : 500;
}

/** The body is left as it is: the server drops what nobody reads, and Node's streams throw where a request is cancelled too early. */
function refusal(status: number, error: ToldError): Response {
  const headers = new Headers({ "content-type": "application/json", "cache-control": "no-store" });
  if (status === 401) headers.set("www-authenticate", "Bearer");
  if (status === 405) headers.set("allow", "POST");
  return new Response(JSON.stringify({ error }), { status, headers });
}
