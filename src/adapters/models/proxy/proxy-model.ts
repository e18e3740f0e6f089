import { CompositionError, ModelError } from "../../../domain/errors.js";
import type { ModelResponse, ReasoningEffort } from "../../../domain/model.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { StreamAccumulator } from "../../../domain/stream.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelDescription, ModelPort } from "../../../ports/model.js";
import { LEAST_LIMITS } from "../wire/call-limits.js";
import { checkOptions } from "../common/check-options.js";
import { type ApiKey, Endpoint } from "../wire/endpoint.js";
import { type DecoratorRuntime, platformRuntime } from "../common/decorator-runtime.js";
import { ListenerGuard } from "../wire/listener-guard.js";
import { prepared } from "../wire/prepared.js";
import { readErrorBody } from "../wire/error-body.js";
import { httpFailure } from "../wire/http-errors.js";
import { modelErrorWith } from "../decorators/model-error-with.js";
import type { ModelFailure } from "../wire/model-failure.js";
import { decodeToldError, type ToldError } from "./proxy-lines.js";
import { ProxyError, ProxyReply } from "./proxy-reply.js";
import { encodeProxyRequest } from "./proxy-request.js";
import { readText } from "../wire/read-text.js";
import { RequestWatch } from "../wire/request-watch.js";
import { toModelError } from "../wire/to-model-error.js";
import { decodeJson, fieldOf } from "../wire/wire-json.js";
import { WireNames } from "../wire/wire-names.js";

/** Where a proxy is, and what is known of the model behind it. */
export type ProxyModelOptions = {
  /** The address that a `proxyHandler` answers. In a browser it may be relative to the page. */
  readonly proxyUrl: string;
  /** Sent as a bearer token. A function is asked before every request, so that tokens may expire. */
  readonly authToken?: ApiKey | undefined;
  /** Added to every request; they replace the adapter's own headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Reported by `describe`. Default `"proxy"`. Replies bear the names that the server gives them. */
  readonly provider?: string | undefined;
  /** Reported by `describe`. Default `"proxy"`. */
  readonly model?: string | undefined;
  readonly contextWindow?: number | undefined;
  readonly knownEfforts?: readonly ReasoningEffort[] | undefined;
  readonly input?: ModelDescription["input"];
  /** Until the headers of the answer, in milliseconds. Default 300,000. */
  readonly timeoutMs?: number | undefined;
  /** Between two lines of the reply, in milliseconds; blank lines are none. Default 300,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Default 16 MiB. */
  readonly maxLineBytes?: number | undefined;
  /** Default 256 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Default: the platform's clock and timers. */
  readonly runtime?: DecoratorRuntime | undefined;
};

const OPTION_NAMES = [
  "proxyUrl",
  "authToken",
  "headers",
  "fetch",
  "provider",
  "model",
  "contextWindow",
  "knownEfforts",
  "input",
  "timeoutMs",
  "idleTimeoutMs",
  "maxLineBytes",
  "maxBodyBytes",
  "runtime",
] as const satisfies readonly (keyof ProxyModelOptions)[];

const NUMBERS = { ...LEAST_LIMITS, contextWindow: 1 };

/** How long the connection may stay open after the last line: a client that hangs up first cannot use it again. */
const DRAIN_MS = 100;

/**
 * A model whose keys another server holds: the response and the chunks that its model gives, for browsers too, and its errors without
 * their causes. A reply
 * that is cut off is `ModelError("transport")` with what came as `partial`; an abort cancels the call on the server. Throws
 * `CompositionError("invalid-config")` for an address that is none or an unknown option.
 */
export function proxyModel(options: ProxyModelOptions): ModelPort {
  checkOptions("proxyModel", options, OPTION_NAMES, NUMBERS);
  const { authToken: apiKey, headers, fetch, provider = "proxy", model = "proxy" } = options;
  const endpoint = new Endpoint({ baseUrl: absolute(options.proxyUrl), path: "", apiKey, headers, fetch });
  const { contextWindow, knownEfforts: efforts, input } = options;
  const description: ModelDescription = { provider, model, contextWindow, efforts, input };
  const context = { endpoint, provider, options };
  return {
    chat: (request) => callProxy(request, undefined, context),
    chatStreaming: (request, onChunk) => callProxy(request, onChunk, context),
    describe: () => description,
  };
}

type Context = { readonly endpoint: Endpoint; readonly provider: string; readonly options: ProxyModelOptions };

async function callProxy(
  request: ChatRequest,
  onChunk: ChunkListener | undefined,
  { endpoint, provider, options }: Context,
): Promise<ModelResponse> {
  const { timeoutMs = 300_000, idleTimeoutMs = 300_000, maxBodyBytes = 256 * 1024 * 1024 } = options;
  const watch = new RequestWatch(request.signal, options.runtime ?? platformRuntime);
  const accumulator = new StreamAccumulator();
  const listener = new ListenerGuard(onChunk ?? ((): void => undefined));
  let secrets: readonly string[] = [];
  let headers: Headers | undefined;
  try {
    watch.check();
    const body = prepared(provider, () => encodeProxyRequest(request, onChunk !== undefined));
    watch.expect(timeoutMs, "answer");
    const response = await endpoint.post(body, "text/x-ennead-model", watch, (found) => {
      secrets = found;
    });
    headers = response.headers;
    if (!response.ok) throw await refusal(response, watch);
    const take = (chunk: StreamChunk): void => {
      accumulator.push(chunk);
      listener.take(chunk);
    };
    const reply = new ProxyReply(take, accumulator, options.maxLineBytes ?? 16 * 1024 * 1024);
    watch.expect(idleTimeoutMs, "line of the reply");
    await readText(response, watch, maxBodyBytes, (text) => {
      if (reply.done) return;
      if (reply.feed(text)) watch.progress();
      if (reply.done) watch.settle(DRAIN_MS);
    });
    return reply.response();
  } catch (error) {
    listener.check();
    const soFar = accumulator.partial();
    const failure = toModelError(error, { provider, names: new WireNames([]), toolNames: [], secrets, headers, soFar });
    throw error instanceof ProxyError && failure instanceof ModelError ? withTold(failure, error.told) : failure;
  } finally {
    watch.close();
  }
}

/** A refusal of the proxy's own, or of whatever stands before it. */
async function refusal(response: Response, watch: RequestWatch): Promise<ModelFailure> {
  const body = await readErrorBody(response, watch);
  const told = decodeToldError(fieldOf(decodeJson(body), "error"));
  if (told === undefined) return httpFailure(response.status, response.headers, body, Date.now());
  return new ProxyError({ ...told, status: response.status });
}

/** What the server knows of its own failure beside what this side has seen. */
function withTold(failure: ModelError, { provider, toolName, usage }: ToldError): ModelError {
  return modelErrorWith(failure, {
    provider: provider === undefined ? failure.provider : safeLabel(provider),
    toolName: toolName === undefined ? undefined : safeLabel(toolName),
    usage: usage ?? failure.usage,
    cause: undefined,
  });
}

/** The address in full: only a page has something to which a relative one belongs. */
function absolute(url: string): string {
  const location: unknown = Reflect.get(globalThis, "location");
  const page: unknown = typeof location === "object" && location !== null ? Reflect.get(location, "href") : undefined;
  const base = typeof page === "string" && URL.canParse(page) ? page : undefined;
  if (!URL.canParse(url, base)) throw new CompositionError("invalid-config", "proxyUrl is not a URL");
  return new URL(url, base).href;
}
