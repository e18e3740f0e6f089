import { describe, expect, it } from "vitest";
import { Defect, type ModelErrorKind } from "../../../src/domain/errors.js";
import { fallback, FALLBACK_KINDS, type FallbackOptions, retrying } from "../../../src/adapters/models/decorators.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { modelStep, ScriptedModel, stopResponse, testRuntime, textStream } from "../../../src/testkit/index.js";
import { request } from "./chat-outcome.js";
import { broken, chat, STOP_CHUNK, stream, text, textOfChunks, usage, wholeOnly } from "./decorated-call.js";
import { delta, DONE, loopback, SSE, STOP } from "./loopback.js";

const { fail } = modelStep;
const says = (answer: string) => modelStep.stream(textStream(answer));
const failing = (kind: ModelErrorKind = "transport") => new ScriptedModel([fail(broken(kind))]);

describe("fallback", () => {
  it("asks the next model in order, streaming or not", async () => {
    for (const ask of [stream, chat]) {
      const unused = new ScriptedModel();
      const model = fallback([failing(), failing("auth"), new ScriptedModel([says("third")]), unused]);
      expect((await ask(model)).response).toEqual(stopResponse("third"));
      expect(unused.callCount).toBe(0);
    }
  });

  it("asks nobody else after an error that says something about the request, or a mistake", async () => {
    for (const kind of ["request-build", "invalid-request", "context-overflow", "content-filter", "aborted"] as const) {
      expect(FALLBACK_KINDS).not.toContain(kind);
      const error = broken(kind);
      expect((await stream(fallback([new ScriptedModel([fail(error)]), new ScriptedModel()]))).error).toBe(error);
    }
    const mistake = new Defect("a script ran out");
    const model = { chat: () => Promise.reject(mistake) };
    expect((await chat(fallback([model, new ScriptedModel()]))).error).toBe(mistake);
  });

  it("takes its kinds from a list or a function", async () => {
    for (const on of [["context-overflow"], ({ kind }: { kind: string }) => kind === "context-overflow"] as const) {
      const model = fallback([failing("context-overflow"), new ScriptedModel([says("larger")])], { on });
      expect((await chat(model)).response).toEqual(stopResponse("larger"));
      const error = broken("transport");
      expect((await chat(fallback([new ScriptedModel([fail(error)]), new ScriptedModel()], { on }))).error).toBe(error);
    }
  });

  it("asks nobody else once the request is aborted", async () => {
    const controller = new AbortController();
    const first: ModelPort = {
      chat() {
        controller.abort();
        return Promise.reject(broken());
      },
    };
    const second = new ScriptedModel();
    const { error } = await chat(fallback([first, second]), request({ signal: controller.signal }));
    expect(error).toMatchObject({ kind: "transport" });
  });

  it("fails with the last error when all failed, retryable where any was, with all of them as the cause", async () => {
    const errors = [broken("overloaded", { usage: { inputTokens: 1 } }), broken("auth", { usage: { inputTokens: 2 } })];
    const models = errors.map((error) => new ScriptedModel([fail(error)]));
    const { error } = await stream(fallback(models));
    expect(error).toMatchObject({ kind: "auth", retryable: true, usage: { inputTokens: 3 }, cause: { errors } });
    const lonely = broken("transport");
    expect((await chat(fallback([new ScriptedModel([fail(lonely)])]))).error).toBe(lonely);
  });

  it("keeps earlier failures where a later one is not for the next model", async () => {
    const errors = [broken("overloaded", { usage: { inputTokens: 1 } }), broken("invalid-request", { status: 404 })];
    const unused = new ScriptedModel();
    for (const ask of [stream, chat]) {
      const models = errors.map((error) => new ScriptedModel([fail(error)]));
      const { error } = await ask(fallback([...models, unused]));
      expect(error).toMatchObject({ kind: "invalid-request", status: 404, retryable: true, cause: { errors } });
      expect(error).toMatchObject({ usage: { inputTokens: 1 } });
    }
    expect(unused.callCount).toBe(0);
  });

  it("asks the busy one again, where the next cannot stand in, as often as it is made to", async () => {
    const runtime = testRuntime();
    const busy = new ScriptedModel([fail(broken("overloaded")), fail(broken("overloaded")), says("at last")]);
    const misnamed = new ScriptedModel(
      Array.from({ length: 2 }, () => fail(broken("invalid-request", { status: 404 }))),
    );
    const call = chat(retrying(fallback([busy, misnamed], { runtime }), { runtime }));
    for (let round = 0; round < 3; round++) await runtime.advance(2000);
    expect((await call).response).toEqual(stopResponse("at last"));
    expect([busy.callCount, misnamed.callCount]).toEqual([3, 2]);
  });

  it("keeps earlier failures where a model breaks off its output", async () => {
    const busy = broken("overloaded");
    const halfway = new ScriptedModel([fail(broken("transport"), [text("half")])]);
    const { error } = await stream(fallback([new ScriptedModel([fail(busy)]), halfway]));
    expect(error).toMatchObject({ kind: "transport", cause: { errors: [busy, { kind: "transport" }] } });
  });

  it("asks for the model that a request names only where the name means the same", async () => {
    const named: (string | undefined)[] = [];
    const provider = (provider: string | undefined, model: string): ModelPort => ({
      chat({ options }) {
        named.push(options.model);
        expect(options.temperature).toBe(1);
        return Promise.reject(broken());
      },
      ...(provider === undefined ? {} : { describe: () => ({ provider, model }) }),
    });
    const models = [
      provider("a", "m"),
      provider("a", "m"),
      provider("a", "n"),
      provider("b", "m"),
      provider(undefined, "m"),
    ];
    await chat(fallback(models), request({ options: { model: "special", temperature: 1 } }));
    expect(named).toEqual(["special", "special", undefined, undefined, undefined]);
  });

  it("streams where any model does: of one that cannot, the whole reply comes as chunks", async () => {
    const reply = {
      parts: [
        { type: "reasoning", text: "hm", signature: "s", redacted: true, providerData: { a: 1 } },
        { type: "text", text: "one", providerData: ["b"] },
        { type: "text", text: "two" },
        { type: "toolCall", id: "c1", name: "f", arguments: { big: 1 }, raw: '{"big":1.00000000000000000001}' },
        { type: "toolCall", id: "c2", name: "f", arguments: {}, providerData: "sig" },
        {
          type: "toolCall",
          id: "c3",
          name: "g",
          arguments: {},
          malformed: { raw: "{", reason: "the arguments are not valid JSON" },
        },
      ],
      finishReason: "tool-calls",
      rawFinishReason: "tool_use",
      usage: { inputTokens: 2, outputTokens: 3 },
    } as const;
    const model = fallback([failing(), wholeOnly(new ScriptedModel([reply]))]);
    expect((await stream(model)).response).toEqual(reply);
    expect(fallback([wholeOnly(failing())])).not.toHaveProperty("chatStreaming");
  });

  it("describes itself as the first model", () => {
    const first = new ScriptedModel([], { model: "first" });
    expect(fallback([first, new ScriptedModel()]).describe?.()).toEqual(first.describe());
  });

  it("refuses an empty list and options that make no sense", () => {
    expect(() => fallback([])).toThrow("invalid-config");
    expect(() => fallback(failing() as never)).toThrow("fallback needs a model that has chat");
    expect(() => fallback([undefined as unknown as ModelPort])).toThrow("invalid-config");
    expect(() => fallback([failing()], { coolDownMs: -1 })).toThrow("invalid-config");
    expect(() => fallback([failing()], { cooldownMs: 1 } as FallbackOptions)).toThrow("did you mean coolDownMs?");
  });
});

describe("a model that failed", () => {
  it("is asked after the others until it has cooled down", async () => {
    const runtime = testRuntime();
    const first = new ScriptedModel([fail(broken()), says("first again")]);
    const second = new ScriptedModel([says("a"), says("b")]);
    const model = fallback([first, second], { runtime, coolDownMs: 1000 });
    await chat(model);
    await runtime.advance(999);
    expect((await chat(model)).response).toEqual(stopResponse("b"));
    expect(first.callCount).toBe(1);
    await runtime.advance(1);
    expect((await chat(model)).response).toEqual(stopResponse("first again"));
  });

  it("cools down for as long as its provider asks", async () => {
    const runtime = testRuntime();
    const first = new ScriptedModel([fail(broken("rate-limit", { retryAfterMs: 5000 })), says("first again")]);
    const second = new ScriptedModel([says("a"), says("b")]);
    const model = fallback([first, second], { runtime, coolDownMs: 1000 });
    await chat(model);
    await runtime.advance(4999);
    expect((await chat(model)).response).toEqual(stopResponse("b"));
    await runtime.advance(1);
    expect((await chat(model)).response).toEqual(stopResponse("first again"));
  });

  it("is asked all the same where no other answers, the one that is cool first before the rest", async () => {
    const runtime = testRuntime();
    const first = new ScriptedModel([fail(broken("rate-limit", { retryAfterMs: 9000 })), says("never asked")]);
    const second = new ScriptedModel([fail(broken()), says("second again")]);
    const model = fallback([first, second], { runtime, coolDownMs: 1000 });
    await chat(model);
    expect((await chat(model)).response).toEqual(stopResponse("second again"));
    expect(first.callCount).toBe(1);
  });

  it("counts as cool again after an answer, and never cools where the time is 0", async () => {
    const runtime = testRuntime();
    const long = fail(broken("rate-limit", { retryAfterMs: 90_000 }));
    const busy = new ScriptedModel([long, says("a"), says("b")]);
    const model = fallback([busy, new ScriptedModel([fail(broken()), fail(broken())])], { runtime });
    await chat(model);
    expect((await chat(model)).response).toEqual(stopResponse("a"));
    expect((await chat(model)).response).toEqual(stopResponse("b"));

    const first = new ScriptedModel([long, says("first")]);
    const always = fallback([first, new ScriptedModel([says("second")])], { runtime, coolDownMs: 0 });
    await chat(always);
    expect((await chat(always)).response).toEqual(stopResponse("first"));
  });
});

describe("a fallback after output began", () => {
  const half = () =>
    new ScriptedModel([fail(broken("transport", { usage: { inputTokens: 9 } }), [usage(8), text("Half")])]);

  it("does not happen unless asked for", async () => {
    const second = new ScriptedModel();
    expect((await stream(fallback([half(), second]))).error).toMatchObject({ kind: "transport" });
    expect(second.callCount).toBe(0);
  });

  it("starts with a reset, so that no text comes twice, and counts what was used", async () => {
    const second = new ScriptedModel([modelStep.stream([text("Half and half"), usage(1), STOP_CHUNK])]);
    const { chunks, response } = await stream(fallback([half(), second], { afterOutput: "reset" }));
    expect(textOfChunks(chunks)).toBe("Half and half");
    expect(chunks).toContainEqual({ type: "reset", reason: "fallback" });
    expect(response?.usage).toEqual({ inputTokens: 10 });
  });

  it("over HTTP: the first provider dies in the middle of the text, the second answers", async () => {
    await using dying = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(delta({ content: "Half" }), () => response.destroy());
    });
    await using living = await loopback((response) => {
      response.writeHead(200, SSE).end(delta({ content: "Whole" }) + STOP + DONE);
    });
    const models = [dying, living].map(({ baseUrl }) => new OpenAiChatModel({ model: "m", baseUrl }));
    const { chunks, response } = await stream(fallback(models, { afterOutput: "reset" }));
    expect(response?.parts).toEqual([{ type: "text", text: "Whole" }]);
    expect(textOfChunks(chunks)).toBe("Whole");
  });
});
