import { getEventListeners, once } from "node:events";
import { request as httpRequest } from "node:http";
import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { type ProxyHandlerOptions, proxyModel, type ProxyModelOptions } from "../../../src/adapters/models/proxy.js";
import { Defect, ModelError } from "../../../src/domain/errors.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { ModelPort } from "../../../src/ports/model.js";
import {
  modelStep,
  ScriptedModel,
  stopResponse,
  testRuntime,
  textStream,
  toolDef,
} from "../../../src/testkit/index.js";
import { fetchOf, request, user } from "./chat-outcome.js";
import { broken, chat, STOP_CHUNK, stream, text, usage } from "./decorated-call.js";
import { loopback } from "./loopback.js";
import { paced } from "./paced.js";
import { direct, handlerOf, TOKEN } from "./proxy-call.js";
import { webServer } from "./web-server.js";

const { fail } = modelStep;
const good = () => new ScriptedModel([modelStep.stream(textStream("good"))]);

/** A well-formed body, with some of it replaced. */
function bodyOf(fields: Record<string, unknown> = {}, outer: Record<string, unknown> = {}): string {
  const { signal: _signal, ...rest } = request();
  return JSON.stringify({ version: 1, stream: true, request: { ...rest, ...fields }, ...outer });
}

function post(body: RequestInit["body"], headers: Record<string, string> = {}): Request {
  const init = { method: "POST", body, headers: { authorization: `Bearer ${TOKEN}`, ...headers }, duplex: "half" };
  return new Request("http://proxy.test/model", init as RequestInit);
}

/** A body that tells whether anybody read from it. */
function watched(): { readonly body: ReadableStream<Uint8Array>; readonly state: { pulled: boolean } } {
  const state = { pulled: false };
  const body = new ReadableStream<Uint8Array>({ pull: () => void (state.pulled = true) }, { highWaterMark: 0 });
  return { body, state };
}

describe("the door of a proxy", () => {
  it("refuses everybody in the same words before anything is read", async () => {
    const unused = new ScriptedModel();
    const authorize = (token: string): boolean => {
      if (token === "broken") throw new Error("no database");
      return (token === "truthy" ? "yes" : false) as boolean;
    };
    const failures: unknown[] = [];
    const handler = handlerOf(unused, { authorize, onFailure: (error) => failures.push(error) });
    const answers = new Set<string>();
    for (const authorization of [
      undefined,
      "",
      "Basic dTpw",
      "Bearer",
      "Bearer a b",
      "Bearer wrong",
      "Bearer truthy",
      "bearer broken",
    ]) {
      const { body, state } = watched();
      const asked = post(body);
      if (authorization === undefined) asked.headers.delete("authorization");
      else asked.headers.set("authorization", authorization);
      const response = await handler(asked);
      answers.add(JSON.stringify([response.status, [...response.headers], await response.text()]));
      expect(state).toEqual({ pulled: false });
    }
    expect([...answers]).toEqual([
      JSON.stringify([
        401,
        [
          ["cache-control", "no-store"],
          ["content-type", "application/json"],
          ["www-authenticate", "Bearer"],
        ],
        '{"error":{"kind":"auth","message":"not allowed"}}',
      ]),
    ]);
    expect(failures).toEqual([new Error("no database")]);
    expect(unused.callCount).toBe(0);
  });

  it("lets in whom the application lets in, which sees the request but not its body", async () => {
    const seen: string[] = [];
    const authorize: ProxyHandlerOptions["authorize"] = async (token, http) => {
      seen.push(token, http.headers.get("x-user") ?? "");
      return await Promise.resolve(true);
    };
    const client = direct(handlerOf(good(), { authorize }), { headers: { "x-user": "u1" } });
    expect((await stream(client)).response).toEqual(stopResponse("good"));
    expect(seen).toEqual([TOKEN, "u1"]);
  });

  it("is a typed error for the client, over a real server, that does not quote the token", async () => {
    await using server = await webServer(handlerOf(new ScriptedModel()));
    for (const ask of [stream, chat]) {
      const { error } = await ask(proxyModel({ proxyUrl: server.url, authToken: "secret-but-wrong" }));
      expect(error).toMatchObject({ kind: "auth", status: 401, retryable: false });
      expect(`${String(error)}${JSON.stringify(error)}`).not.toContain("secret-but-wrong");
    }
  });

  it("answers nothing but POST", async () => {
    const handler = handlerOf(new ScriptedModel());
    const response = await handler(
      new Request("http://proxy.test/", { headers: { authorization: `Bearer ${TOKEN}` } }),
    );
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("the body of a request", () => {
  it("is refused by its declared length before it is read", async () => {
    const { body, state } = watched();
    const response = await handlerOf(new ScriptedModel(), { maxBodyBytes: 100 })(
      post(body, { "content-length": "101" }),
    );
    expect(response.status).toBe(413);
    expect(state).toEqual({ pulled: false });
  });

  it("is read no further than its limit", async () => {
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(40));
      },
    });
    const response = await handlerOf(new ScriptedModel(), { maxBodyBytes: 100 })(post(body));
    expect(response.status).toBe(413);
    expect(pulls).toBeLessThan(6);
    expect(await response.json()).toMatchObject({ error: { kind: "invalid-request" } });
  });

  it("that is too long is a typed error for the client, and one of just the limit goes through", async () => {
    const length = bodyOf().length;
    expect((await stream(direct(handlerOf(good(), { maxBodyBytes: length })))).response).toBeDefined();
    const { error } = await stream(direct(handlerOf(good(), { maxBodyBytes: length - 1 })));
    expect(error).toMatchObject({ kind: "invalid-request", status: 413, retryable: false });
  });

  it("that is far too long is a typed error over a real server too, declared or not", async () => {
    await using server = await webServer(handlerOf(new ScriptedModel(), { maxBodyBytes: 1000 }));
    const messages = [user("x".repeat(8 * 1024 * 1024))];
    for (const declared of [true, false]) {
      const fetch: ProxyModelOptions["fetch"] = (url, init) =>
        globalThis.fetch(
          url,
          declared ? init : ({ ...init, body: new Blob([String(init?.body)]).stream(), duplex: "half" } as RequestInit),
        );
      const { error } = await stream(
        proxyModel({ proxyUrl: server.url, authToken: TOKEN, fetch }),
        request({ messages }),
      );
      expect(error).toMatchObject({ kind: "invalid-request", status: 413 });
    }
  });

  it("that does not come, or is cut off, is given up", async () => {
    const slow = await handlerOf(new ScriptedModel(), { bodyTimeoutMs: 20 })(post(watched().body));
    expect([slow.status, await slow.json()]).toMatchObject([408, { error: { kind: "timeout" } }]);
    const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("gone")) });
    expect((await handlerOf(new ScriptedModel())(post(broken))).status).toBe(400);
  });

  it.each<[string, string]>([
    ["nothing", ""],
    ["no JSON", '{"a":secret}'],
    ["too deep", "[".repeat(100_000)],
    ["no object", "[]"],
    ["another version", bodyOf({}, { version: 2 })],
    ["no stream", bodyOf({}, { stream: "yes" })],
    ["no request", bodyOf({}, { request: 5 })],
    ["no messages", bodyOf({ messages: undefined })],
    ["empty messages", bodyOf({ messages: [] })],
    ["a message that is none", bodyOf({ messages: ["secret"] })],
    ["a role that no model knows", bodyOf({ messages: [{ role: "secret", id: "a", at: 0, content: [] }] })],
    ["a part without text", bodyOf({ messages: [{ role: "user", content: [{ type: "text", text: { secret: 1 } }] }] })],
    ["a result for no call", bodyOf({ messages: [{ role: "tool", content: [] }] })],
    ["no tools", bodyOf({ tools: {} })],
    ["a tool without a name", bodyOf({ tools: [{ ...toolDef("secret"), name: 5 }] })],
    ["a tool without a schema", bodyOf({ tools: [{ ...toolDef("secret"), inputSchema: [] }] })],
    ["no options", bodyOf({ options: null })],
    ["a wrong option", bodyOf({ options: { temperature: "secret" } })],
    ["a wrong effort", bodyOf({ options: { reasoningEffort: "secret" } })],
    ["a wrong choice", bodyOf({ options: { toolChoice: { secret: 1 } } })],
    ["a negative count", bodyOf({ options: { maxOutputTokens: -1 } })],
    ["a context that is none", bodyOf({ requestContext: [] })],
    ["no session", bodyOf({ sessionId: 5 })],
    ["no round", bodyOf({ round: -1 })],
  ])("that holds %s is refused, and quoted nowhere", async (_what, body) => {
    const unused = new ScriptedModel();
    const response = await handlerOf(unused)(post(body));
    const answer = await response.text();
    expect(response.status).toBe(400);
    expect(JSON.parse(answer)).toMatchObject({
      error: { kind: "invalid-request", message: expect.any(String) as string },
    });
    expect(answer).not.toContain("secret");
    expect(unused.callCount).toBe(0);
  });

  it("that is malformed is refused with the place", async () => {
    const messages = [{ role: "user", content: [{ type: "text", text: 5 }] }];
    const places = [
      [bodyOf({ messages }), "messages[0].content[0].text is no text"],
      [bodyOf({ tools: [toolDef("f"), 5] }), "tools[1] is no tool"],
      [bodyOf({ options: { seed: "1" } }), "options.seed has a value that it cannot have"],
      ["{", "the body is no JSON"],
    ] as const;
    for (const [body, place] of places) {
      const response = await handlerOf(new ScriptedModel())(post(body));
      expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(place) as string } });
    }
  });

  it("is as lenient as a store: a picture without a source costs no session", async () => {
    const messages = [{ role: "user", content: [{ type: "image" }, { type: "text", text: "hi" }] }];
    expect((await handlerOf(good())(post(bodyOf({ messages })))).status).toBe(200);
  });
});

describe("an error of the model behind a proxy", () => {
  it.each([
    ["a rate limit", broken("rate-limit", { status: 429, retryAfterMs: 1500, requestId: "r1", provider: "anthropic" })],
    ["no credit", broken("rate-limit", { retryable: false })],
    ["an overflow", broken("context-overflow", { usage: { inputTokens: 5 } })],
    ["a refused tool", broken("invalid-request", { toolName: "f" })],
    ["a filter", broken("content-filter")],
    ["a timeout", broken("timeout")],
    ["an overload", broken("overloaded", { retryable: false })],
  ])("reaches the client as it is: %s", async (_what, error) => {
    await using server = await webServer(handlerOf(new ScriptedModel([fail(error), fail(error)])));
    const client = proxyModel({ proxyUrl: server.url, authToken: TOKEN });
    for (const ask of [stream, chat]) {
      const { error: seen } = await ask(client);
      const { kind, status, retryAfterMs, requestId, usage, toolName, retryable, provider = "proxy" } = error;
      expect(seen).toBeInstanceOf(ModelError);
      expect(seen).toMatchObject({ kind, status, retryAfterMs, requestId, usage, toolName, retryable, provider });
      expect(String(seen)).toContain("the proxy reports a failure: it broke");
    }
  });

  it("after output began has what came, and the usage that the server or the chunks tell", async () => {
    const steps = [
      fail(broken("server"), [usage(4), text("Half")]),
      fail(broken("server", { usage: { inputTokens: 9 } }), [usage(4)]),
    ];
    const client = direct(handlerOf(new ScriptedModel(steps)));
    expect((await stream(client)).error).toMatchObject({ partial: [{ text: "Half" }], usage: { inputTokens: 4 } });
    expect((await stream(client)).error).toMatchObject({ partial: undefined, usage: { inputTokens: 9 } });
  });

  it("that is no model error tells the client nothing, and the server's log everything", async () => {
    for (const mistake of [new Defect("secret script"), new TypeError("secret property"), "secret text"]) {
      const failures: unknown[] = [];
      const model = { chat: () => Promise.reject(mistake) };
      const { error } = await stream(direct(handlerOf(model, { onFailure: (one) => failures.push(one) })));
      expect(error).toMatchObject({ kind: "server", retryable: false });
      expect(`${String(error)}${JSON.stringify(error)}`).not.toContain("secret");
      expect(failures).toEqual([mistake]);
    }
  });

  it("is a failure of some server where its kind is of a later version", async () => {
    const fetch = fetchOf([new TextEncoder().encode('ennead-model 1\nerror {"kind":"tired","message":"a\\nb"}\n')]);
    const { error } = await stream(proxyModel({ proxyUrl: "http://proxy.test/", fetch }));
    expect(String(error)).toBe("ModelError: ModelError(server): the proxy reports a failure: a b");
  });

  it("quotes no token that a server repeats", async () => {
    const fetch = fetchOf([
      new TextEncoder().encode(`ennead-model 1\nerror {"kind":"auth","message":"bad ${TOKEN}"}\n`),
    ]);
    const { error } = await stream(proxyModel({ proxyUrl: "http://proxy.test/", authToken: TOKEN, fetch }));
    expect(String(error)).toContain("bad [secret]");
  });

  it("of admission is a refusal with a fitting status", async () => {
    const statuses = [
      [broken("invalid-request"), 400],
      [broken("auth"), 403],
      [broken("rate-limit"), 429],
      [broken("overloaded"), 503],
      [broken("server"), 500],
      [broken("server", { status: 200 }), 500],
      [broken("server", { status: 418 }), 418],
      [new TypeError("secret"), 500],
    ] as const;
    for (const [error, status] of statuses) {
      const handler = handlerOf(new ScriptedModel(), { admit: () => Promise.reject(error) });
      const response = await handler(post(bodyOf()));
      expect(response.status).toBe(status);
      expect(await response.text()).not.toContain("secret");
    }
    const admit = (): never => {
      throw broken("rate-limit", { retryAfterMs: 700 });
    };
    const { error } = await chat(direct(handlerOf(new ScriptedModel(), { admit })));
    expect(error).toMatchObject({ kind: "rate-limit", retryAfterMs: 700, status: 429, retryable: true });
  });

  it("of whatever stands before the proxy is judged by its status", async () => {
    await using gateway = await loopback((response) => {
      response.writeHead(502, { "content-type": "text/html" }).end("<html><h1>502 Bad Gateway</h1></html>");
    });
    const { error } = await stream(proxyModel({ proxyUrl: gateway.baseUrl }));
    expect(error).toMatchObject({ kind: "server", status: 502, retryable: true });
    expect(String(error)).toContain("502 Bad Gateway");
  });
});

describe("an abort of the client", () => {
  it.each(["signal", "cancel", "both"] as const)(
    "ends the call on the server, which learns of it by %s",
    async (tells) => {
      for (const ask of [stream, chat]) {
        const begun = Promise.withResolvers<AbortSignal>();
        const ended = Promise.withResolvers<void>();
        const model: ModelPort = {
          chat({ signal }) {
            begun.resolve(signal);
            return new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => {
                ended.resolve();
                reject(broken("aborted"));
              });
            });
          },
        };
        await using server = await webServer(handlerOf(model), { tells });
        const controller = new AbortController();
        const call = ask(
          proxyModel({ proxyUrl: server.url, authToken: TOKEN }),
          request({ signal: controller.signal }),
        );
        await begun.promise;
        controller.abort();
        expect((await call).error).toMatchObject({ kind: "aborted", retryable: false });
        await ended.promise;
      }
    },
  );

  it("ends a call that streams, with what came, and the call of the provider behind it", async () => {
    await using provider = await loopback((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n');
    });
    await using server = await webServer(handlerOf(new OpenAiChatModel({ model: "m", baseUrl: provider.baseUrl })));
    const controller = new AbortController();
    const client = proxyModel({ proxyUrl: server.url, authToken: TOKEN });
    const call = client.chatStreaming?.(request({ signal: controller.signal }), () => controller.abort());
    await expect(call).rejects.toMatchObject({ kind: "aborted", partial: [{ text: "Half" }] });
    await provider.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("before the call makes no request", async () => {
    const client = direct(() => Promise.reject(new Error("was asked")));
    expect((await stream(client, request({ signal: AbortSignal.abort() }))).error).toMatchObject({ kind: "aborted" });
  });

  it("by hanging up without a word ends the call too", async () => {
    const inner = new ScriptedModel([modelStep.hang([text("Half")])]);
    const aborted = Promise.withResolvers<unknown>();
    await using server = await webServer(handlerOf(inner, { onFailure: aborted.resolve }));
    const client = httpRequest(server.url, { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } });
    client.on("error", () => undefined);
    client.end(bodyOf());
    const [response] = (await once(client, "response")) as [NodeJS.ReadableStream];
    await once(response, "data");
    client.destroy();
    expect(await aborted.promise).toMatchObject({ kind: "aborted" });
  });
});

describe("an abort of the server", () => {
  it("ends the call of the client typed, to be tried again, with what came", async () => {
    const shutdown = new AbortController();
    const inner = new ScriptedModel([modelStep.hang([usage(2), text("Half")])]);
    await using server = await webServer(handlerOf(inner, { signal: shutdown.signal }));
    const client = proxyModel({ proxyUrl: server.url, authToken: TOKEN });
    const call = client.chatStreaming?.(request(), ({ type }) => type === "textDelta" && shutdown.abort());
    await expect(call).rejects.toMatchObject({
      kind: "transport",
      retryable: true,
      partial: [{ text: "Half" }],
      usage: { inputTokens: 2 },
    });
    expect(inner.aborts).toEqual([0]);
    expect(getEventListeners(shutdown.signal, "abort")).toHaveLength(0);
    expect((await stream(client)).error).toMatchObject({ kind: "server" });
  });

  it("ends it although the model does not heed the signal", async () => {
    const shutdown = new AbortController();
    const model: ModelPort = {
      chat() {
        shutdown.abort();
        return Promise.withResolvers<never>().promise;
      },
    };
    const { error } = await chat(direct(handlerOf(model, { signal: shutdown.signal })));
    expect(error).toMatchObject({ kind: "transport", retryable: true });
  });

  it("by its time limit is a timeout for the client", async () => {
    const inner = new ScriptedModel([modelStep.hang()]);
    const { error } = await chat(direct(handlerOf(inner, { callTimeoutMs: 20 })));
    expect(error).toMatchObject({ kind: "timeout", retryable: true });
    expect(inner.aborts).toEqual([0]);
  });

  it("before the call reaches the model as an abort", async () => {
    const inner = new ScriptedModel([modelStep.hang()]);
    const { error } = await chat(direct(handlerOf(inner, { signal: AbortSignal.abort() })));
    expect(error).toMatchObject({ kind: "transport" });
  });
});

describe("a client of a proxy", () => {
  it("that does not read its reply has its call aborted", async () => {
    const failures: unknown[] = [];
    const ended = Promise.withResolvers<void>();
    const model: ModelPort = {
      chat: () => Promise.reject(broken()),
      chatStreaming({ signal }, onChunk) {
        let sent = 0;
        while (!signal.aborted && sent < 1000) {
          onChunk(text("x".repeat(1000)));
          sent += 1;
        }
        failures.push(sent);
        ended.resolve();
        return Promise.reject(broken("aborted"));
      },
    };
    const response = await handlerOf(model, { maxUnreadBytes: 10_000 })(post(bodyOf()));
    await ended.promise;
    expect(failures).toEqual([10]);
    await expect(response.text()).rejects.toThrow("does not read");
  });

  it("waits for an answer and for a line no longer than it is told to", async () => {
    const runtime = testRuntime();
    await using silent = await loopback(() => void runtime.advance(30));
    const silence = await stream(proxyModel({ proxyUrl: silent.baseUrl, runtime, timeoutMs: 30 }));
    expect(silence.error).toMatchObject({ kind: "timeout" });
    const half = 'ennead-model 1\n{"type":"textDelta","text":"Half"}\n\n\n';
    const { fetch, cancelled } = paced(runtime, [half], { silenceMs: 30 });
    const proxyUrl = "http://proxy.test/";
    const stall = await stream(proxyModel({ proxyUrl, fetch, runtime, idleTimeoutMs: 30 }));
    expect(stall.error).toMatchObject({ kind: "timeout", partial: [{ text: "Half" }] });
    await cancelled;
  });

  it("takes no blank line for a sign of life, but every other", async () => {
    const runtime = testRuntime();
    const ask = (list: readonly string[], everyMs: number) => {
      const { fetch } = paced(runtime, ["ennead-model 1\n", ...list], { everyMs, silenceMs: 100 });
      return stream(proxyModel({ proxyUrl: "http://proxy.test/", fetch, runtime, idleTimeoutMs: 50 }));
    };
    const blank = await ask(
      Array.from({ length: 20 }, () => "\n"),
      20,
    );
    expect(blank.error).toMatchObject({ kind: "timeout" });
    expect(runtime.elapsed()).toBeLessThan(100);
    const lines = Array.from({ length: 13 }, () => '{"type":"textDelta","text":"x"}\n');
    const alive = await ask([...lines, 'done {"reason":"stop"}\n'], 49);
    expect(alive.response).toEqual(stopResponse("x".repeat(13)));
    expect(runtime.pendingTimers).toBe(0);
  });

  it("hears blank lines while the model thinks, and no more once it has answered", async () => {
    const runtime = testRuntime();
    const reply = Promise.withResolvers<ModelResponse>();
    const response = await handlerOf({ chat: () => reply.promise }, { runtime, keepAliveMs: 100 })(post(bodyOf()));
    await runtime.advance(350);
    reply.resolve(stopResponse("ok"));
    expect(await response.text()).toMatch(/^ennead-model 1\n\n\n\n\{.*\}\n\{.*\}\ndone \{.*\}\n$/);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is done with the last line although the connection stays open or breaks", async () => {
    for (const end of ["stall", "reset"]) {
      await using server = await loopback((response) => {
        response.writeHead(200);
        response.write('ennead-model 1\n{"type":"textDelta","text":"ok"}\ndone {"reason":"stop"}\n', () => {
          if (end === "reset") response.destroy();
        });
      });
      expect((await stream(proxyModel({ proxyUrl: server.baseUrl }))).response).toEqual(stopResponse("ok"));
    }
  });

  it("may be given an address relative to the page", async () => {
    const urls: string[] = [];
    const fetch: ProxyModelOptions["fetch"] = (url) => {
      urls.push(String(url));
      return Promise.reject(new TypeError("offline"));
    };
    expect(() => proxyModel({ proxyUrl: "/api/model/" })).toThrow("invalid-config");
    Object.defineProperty(globalThis, "location", { value: { href: "https://app.test/chat/" }, configurable: true });
    try {
      const client = proxyModel({ proxyUrl: "/api/model/?a=1", fetch });
      expect((await stream(client)).error).toMatchObject({ kind: "transport", retryable: true });
      expect(urls).toEqual(["https://app.test/api/model/?a=1"]);
    } finally {
      Reflect.deleteProperty(globalThis, "location");
    }
  });

  it("cannot be made with options that make no sense, nor can a handler", () => {
    for (const options of [
      {},
      { proxyUrl: "nowhere" },
      { proxyUrl: "ftp://a.test/" },
      { proxyUrl: "http://a.test/", apiKey: "k" },
    ]) {
      expect(() => proxyModel(options as ProxyModelOptions)).toThrow("invalid-config");
    }
    const model = new ScriptedModel();
    for (const options of [
      { maxBodyBytes: 0 },
      { authorize: undefined },
      { model: undefined },
      { authorise: () => true },
    ]) {
      expect(() => handlerOf(model, options as Partial<ProxyHandlerOptions>)).toThrow("invalid-config");
    }
  });

  it("fails a request that is no JSON before it is sent", async () => {
    const requestContext = { big: 1n } as never;
    const client = direct(() => Promise.reject(new Error("was asked")));
    expect((await stream(client, request({ requestContext }))).error).toMatchObject({ kind: "request-build" });
  });

  it("gets no text twice where the model behind starts over", async () => {
    const chunks = [
      text("First, "),
      { type: "reset", reason: "retry" },
      text("First, boil water"),
      STOP_CHUNK,
    ] as const;
    const client = direct(handlerOf(new ScriptedModel([modelStep.stream(chunks)])));
    expect((await stream(client)).response).toEqual(stopResponse("First, boil water"));
  });
});
