import { CompositionError } from "../../../domain/errors.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import { givenHeaders } from "./given-headers.js";
import { ModelFailure } from "./model-failure.js";
import { transportFailure } from "./read-text.js";
import type { RequestWatch } from "./request-watch.js";
import { decoded, secretsOfHeaders, secretsOfUrl } from "./secrets.js";

/** A key, or a function that is asked for one before every request. */
export type ApiKey = string | (() => Awaitable<string | undefined>);

/** Where requests go and what they carry beside their body. */
export type EndpointOptions = {
  readonly baseUrl: string;
  readonly path: string;
  readonly apiKey?: ApiKey | undefined;
  /** The header that holds the key as it is. Default: `authorization`, with the key as a bearer token, before any user of the URL. */
  readonly keyHeader?: string | undefined;
  /** Added to the query of `baseUrl`; nothing secret. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the global `fetch`, looked up at every request. */
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** One URL of a provider. Keeps user, password, query and keys out of every error it raises. */
export class Endpoint {
  readonly #url: URL;
  readonly #basic: string | undefined;
  readonly #options: EndpointOptions;
  readonly #secrets: readonly string[];
  readonly #own: readonly (readonly [string, string])[];

  /** Throws `CompositionError("invalid-config")` for a base URL that is none, and for headers that are no texts. */
  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#own = givenHeaders(options.headers);
    this.#url = requestUrl(options);
    const { username, password } = this.#url;
    this.#basic = username === "" && password === "" ? undefined : btoa(`${decoded(username)}:${decoded(password)}`);
    this.#secrets = [this.#basic ?? "", ...secretsOfUrl(this.#url), ...secretsOfHeaders(this.#own)];
    this.#url.username = "";
    this.#url.password = "";
    for (const [name, value] of Object.entries(options.query ?? {})) this.#url.searchParams.set(name, value);
  }

  get host(): string {
    return this.#url.hostname;
  }

  /**
   * Sends one POST; resolves when the headers of the answer are there, whatever its status. Redirects are answers too: a key must not
   * travel on to where a server points. `onSecrets` is told, before anything can fail, what must not be quoted.
   */
  async post(
    body: string,
    accept: string,
    watch: RequestWatch,
    onSecrets: (secrets: readonly string[]) => void,
  ): Promise<Response> {
    onSecrets(this.#secrets);
    const key = await watch.guard(() => this.#key());
    onSecrets(key === undefined ? this.#secrets : [...this.#secrets, key]);
    const headers = this.#headers(accept, key);
    const send = this.#options.fetch ?? globalThis.fetch;
    const init = { method: "POST", headers, body, signal: watch.signal, redirect: "manual" } as const;
    return await watch.guard(async () => {
      const response = await answerOf(() => send(this.#url.href, init));
      // A fetch that does not heed its signal may answer when nobody reads any more.
      if (watch.stopped) void response.body?.cancel().catch(() => undefined);
      return response;
    });
  }

  async #key(): Promise<string | undefined> {
    const { apiKey } = this.#options;
    let key: string | undefined;
    try {
      key = (typeof apiKey === "function" ? await apiKey() : apiKey)?.trim();
    } catch {
      throw new ModelFailure("auth", "the function that is asked for the API key failed");
    }
    if (key === undefined || key === "") return undefined;
    if (!/^[\x21-\x7e]+$/.test(key)) throw new ModelFailure("auth", "the API key holds characters that no header can");
    return key;
  }

  #headers(accept: string, key: string | undefined): Headers {
    const headers = new Headers({ "content-type": "application/json", accept });
    const { keyHeader } = this.#options;
    if (this.#basic !== undefined) headers.set("authorization", `Basic ${this.#basic}`);
    if (key !== undefined) headers.set(keyHeader ?? "authorization", keyHeader === undefined ? `Bearer ${key}` : key);
    for (const [name, value] of this.#own) {
      try {
        headers.set(name, value);
      } catch {
        throw new ModelFailure("request-build", "a header is not valid", { quote: name });
      }
    }
    return headers;
  }
}

/** The answer of a `fetch` that may be the application's own: it may throw at once or answer with anything. */
async function answerOf(send: () => Promise<Response>): Promise<Response> {
  let response: unknown;
  try {
    response = await send();
  } catch (error) {
    throw transportFailure("the provider could not be reached", error);
  }
  if (!isResponse(response)) throw new ModelFailure("transport", "fetch gave no response", { retryable: false });
  return response;
}

/** A `Response` of any realm or library. */
function isResponse(value: unknown): value is Response {
  return typeof value === "object" && value !== null && "status" in value && "headers" in value && "body" in value;
}

function requestUrl({ baseUrl, path }: EndpointOptions): URL {
  if (!URL.canParse(baseUrl)) throw new CompositionError("invalid-config", "baseUrl is not a URL");
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw new CompositionError("invalid-config", "baseUrl is not an http address");
  const base = path === "" ? url.pathname : url.pathname.replace(/\/+$/, "");
  url.pathname = base.endsWith(path) ? base : base + path;
  url.hash = "";
  return url;
}
