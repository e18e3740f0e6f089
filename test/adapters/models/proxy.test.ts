import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { retrying } from "../../../src/adapters/models/decorators.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChatRequest, ModelPort } from "../../../src/ports/model.js";
import { modelStep, ScriptedModel, stopResponse, textStream, toolDef } from "../../../src/testkit/index.js";
import { fetchOf, request, user } from "./chat-outcome.js";
import {
  broken,
  chat,
  responseOf,
  STOP_CHUNK,
  stream,
  text,
  textOfChunks,
  usage,
  wholeOnly,
} from "./decorated-call.js";
import { direct, handlerOf, HARD_CHUNKS, replyOf, TOKEN } from "./proxy-call.js";
import { proxyModel } from "../../../src/adapters/models/proxy.js";
import { webServer } from "./web-server.js";

const hard: ModelResponse = { ...responseOf(HARD_CHUNKS), model: "m-2", provider: "anthropic" };
const hardModel = () => new ScriptedModel([modelStep.stream(HARD_CHUNKS, hard)]);

describe("a proxied model", () => {
  it("gives the same chunks and response as the model behind it, over a real server", async () => {
    await using server = await webServer(handlerOf(hardModel()));
    const { chunks, response } = await stream(proxyModel({ proxyUrl: server.url, authToken: TOKEN }));
    expect(chunks).toEqual(HARD_CHUNKS);
    expect(response).toEqual(hard);
  });

  it("gives the same response where nobody wants chunks", async () => {
    await using server = await webServer(handlerOf(hardModel()));
    expect((await chat(proxyModel({ proxyUrl: server.url, authToken: TOKEN }))).response).toEqual(hard);
  });

  it("gives what the model said even where its chunks say something else", async () => {
    const other = { ...stopResponse("corrected"), rawFinishReason: "end" };
    const model = new ScriptedModel([modelStep.stream([text("wrong"), STOP_CHUNK], other)]);
    const asked = request();
    expect(await direct(handlerOf(model)).chatStreaming?.(asked, () => undefined)).toEqual(other);
  });

  it("streams where the model behind it cannot: its whole reply comes as chunks", async () => {
    const { model: _model, provider: _provider, ...said } = hard;
    const model = wholeOnly(new ScriptedModel([modelStep.respond(hard)]));
    const { chunks, response } = await stream(direct(handlerOf(model)));
    expect(response).toEqual(hard);
    expect(responseOf(chunks)).toEqual(said);
  });

  it("keeps any reply exactly", async () => {
    const words = fc.string({ unit: "binary" });
    const extras = fc.option(fc.record({ providerData: fc.jsonValue() }), { nil: {} });
    const part = fc
      .oneof(
        fc.record({ type: fc.constant("text" as const), text: words }),
        fc.record({ type: fc.constant("reasoning" as const), text: words, signature: words }),
        fc.record({
          type: fc.constant("toolCall" as const),
          id: words,
          name: words,
          arguments: fc.dictionary(words, fc.jsonValue()),
        }),
      )
      .chain((one) => extras.map((more) => ({ ...one, ...more })));
    const reply = fc.record({ parts: fc.array(part, { maxLength: 4 }), finishReason: fc.constant("stop" as const) });
    await fc.assert(
      fc.asyncProperty(reply, fc.boolean(), async (said, streaming) => {
        const given = JSON.parse(JSON.stringify(said)) as ModelResponse;
        const model = direct(handlerOf(wholeOnly({ chat: () => Promise.resolve(given) })));
        const response = await (streaming ? model.chatStreaming?.(request(), () => undefined) : model.chat(request()));
        expect(response).toEqual(given);
      }),
      { numRuns: 60 },
    );
  });

  it("hands chunks on as soon as they come", async () => {
    const seen = Promise.withResolvers<void>();
    const model: ModelPort = {
      chat: () => Promise.reject(broken()),
      async chatStreaming(_asked, onChunk) {
        onChunk(text("first"));
        await seen.promise;
        onChunk(text(" second"));
        onChunk(STOP_CHUNK);
        return stopResponse("first second");
      },
    };
    await using server = await webServer(handlerOf(model));
    const client = proxyModel({ proxyUrl: server.url, authToken: TOKEN });
    const response = await client.chatStreaming?.(request(), () => seen.resolve());
    expect(response?.parts).toEqual([{ type: "text", text: "first second" }]);
  });

  it("sends no more for a delta the longer the reply is", async () => {
    const size = async (count: number): Promise<number> => {
      const model = new ScriptedModel([modelStep.stream(textStream("x".repeat(count), count))]);
      return (await replyOf(model, stream)).length;
    };
    const [small, large] = [await size(100), await size(1100)];
    expect(large - small).toBe(1000 * JSON.stringify(text("x") satisfies StreamChunk).length + 1000);
  });

  it("describes itself by its options", () => {
    const options = { proxyUrl: "http://proxy.test/", model: "m", contextWindow: 9, input: ["text"] as const };
    expect(proxyModel(options).describe?.()).toMatchObject({
      provider: "proxy",
      model: "m",
      contextWindow: 9,
      input: ["text"],
    });
  });
});

describe("a request through a proxy", () => {
  const asked = (): ChatRequest => {
    const call = { id: "c1", name: "f", arguments: { a: 1 } };
    const messages: Message[] = [
      user("\ud83d alone"),
      {
        role: "assistant",
        id: "a",
        at: 1,
        parts: [
          { type: "reasoning", text: "hm", signature: "s", providerData: { x: [1] } },
          { type: "toolCall", ...call, raw: '{"a":1.0}' },
        ],
        provider: "anthropic",
      },
      {
        role: "tool",
        id: "t",
        at: 2,
        toolCallId: "c1",
        toolName: "f",
        content: [{ type: "image", source: { base64: "AA==" }, mimeType: "image/png" }],
        details: { private: true },
        isError: false,
        outcome: "completed",
      },
    ];
    const options = {
      temperature: 0.5,
      toolChoice: { tool: "f" },
      stopSequences: ["x"],
      reasoningEffort: "high",
    } as const;
    return request({ messages, tools: [toolDef("f")], options, requestContext: { trace: "t" }, round: 3 });
  };
  const shown = ({ signal: _signal, ...rest }: ChatRequest) => ({
    ...rest,
    messages: rest.messages.map(({ ...message }) => {
      if ("details" in message) delete message.details;
      return message;
    }),
  });
  const capture = async (options: Parameters<typeof handlerOf>[1], sent: ChatRequest): Promise<ChatRequest[]> => {
    const seen: ChatRequest[] = [];
    const model = { chat: (one: ChatRequest) => (seen.push(one), Promise.resolve(stopResponse("ok"))) };
    await chat(direct(handlerOf(model, options)), sent);
    return seen;
  };

  it("arrives as it was sent, without what a tool told the application alone", async () => {
    const sent = asked();
    const [seen] = await capture({}, sent);
    expect(shown(seen as ChatRequest)).toEqual(shown(sent));
    expect(JSON.stringify(seen)).not.toContain("private");
  });

  it("arrives without the options by which a client could spend more, unless they are admitted", async () => {
    const spending = { model: "dear", serviceTier: "fast", providerOptions: { n: 9 } } as const;
    const sent = request({ options: { ...spending, seed: 1 } });
    expect((await capture({}, sent))[0]?.options).toEqual({ seed: 1 });
    expect((await capture({ admit: (one) => one }, sent))[0]?.options).toEqual({ ...spending, seed: 1 });
    const admit = (one: ChatRequest, http: Request) => ({ ...one, sessionId: http.headers.get("x-user") ?? "" });
    expect((await capture({ admit }, sent))[0]?.sessionId).toBe("");
  });

  it("asks for its token anew every time", async () => {
    const tokens = ["wrong", TOKEN];
    const handler = handlerOf(new ScriptedModel([stopResponse("ok")]));
    const client = direct(handler, { authToken: () => Promise.resolve(tokens.shift()) });
    expect((await chat(client)).error).toMatchObject({ kind: "auth", status: 401 });
    expect((await chat(client)).response).toEqual(stopResponse("ok"));
  });
});

describe("a reply in pieces", () => {
  it("reads the same whole, byte by byte, and over a server that sends single bytes", async () => {
    const bytes = await replyOf(hardModel(), stream);
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
    for (const pieces of [[bytes], single]) {
      const client = proxyModel({ proxyUrl: "http://proxy.test/", fetch: fetchOf(pieces) });
      const { chunks, response } = await stream(client);
      expect(chunks).toEqual(HARD_CHUNKS);
      expect(response).toEqual(hard);
    }
    const write = (piece: Uint8Array, response: { write(piece: Uint8Array): unknown }): void => {
      for (const byte of piece) response.write(Uint8Array.of(byte));
    };
    await using server = await webServer(handlerOf(hardModel()), { write });
    expect((await stream(proxyModel({ proxyUrl: server.url, authToken: TOKEN }))).response).toEqual(hard);
  });

  it("that is cut anywhere is a transport error with what came before", async () => {
    const chunks = [usage(3), text("Hé"), text("llo"), STOP_CHUNK];
    const bytes = await replyOf(new ScriptedModel([modelStep.stream(chunks)]), stream);
    for (let cut = 0; cut < bytes.length; cut++) {
      const client = proxyModel({ proxyUrl: "http://proxy.test/", fetch: fetchOf([bytes.slice(0, cut)]) });
      const call = await stream(client);
      expect(call.error, `cut at ${cut}`).toMatchObject({ kind: "transport", retryable: true });
      const came = textOfChunks(call.chunks);
      expect(call.error).toMatchObject(
        came === "" ? { partial: undefined } : { partial: [{ type: "text", text: came }] },
      );
      if (call.chunks.length > 0) expect(call.error).toMatchObject({ usage: { inputTokens: 3 } });
    }
  });

  it("whose connection is reset is a transport error with what came before, and can be tried again", async () => {
    let nth = 0;
    const write = (
      piece: Uint8Array,
      response: { write: (piece: Uint8Array, done?: () => void) => unknown; destroy(): unknown },
    ) => {
      if (nth > 0 || !new TextDecoder().decode(piece).includes("First")) return void response.write(piece);
      nth += 1;
      response.write(piece, () => response.destroy());
    };
    const model = (): ScriptedModel =>
      new ScriptedModel([
        modelStep.hang([text("First, ")]),
        modelStep.stream([text("First, "), text("boil water"), STOP_CHUNK]),
      ]);
    {
      await using server = await webServer(handlerOf(model()), { write });
      const { error } = await stream(proxyModel({ proxyUrl: server.url, authToken: TOKEN }));
      expect(error).toMatchObject({ kind: "transport", partial: [{ type: "text", text: "First, " }] });
    }
    nth = 0;
    await using server = await webServer(handlerOf(model()), { write });
    const client = proxyModel({ proxyUrl: server.url, authToken: TOKEN });
    const { chunks, response } = await stream(retrying(client, { afterOutput: "reset", baseDelayMs: 0 }));
    expect(response?.parts).toEqual([{ type: "text", text: "First, boil water" }]);
    expect(textOfChunks(chunks)).toBe("First, boil water");
  });

  it("that is no reply of ours is refused, and so are malformed lines", async () => {
    const first = "ennead-model 1\n";
    const bad = [
      "<html>hello</html>",
      'data: {"choices":[]}\n\n',
      "ennead-model 2\n",
      "ennead-model 10",
      `${first}{"type":"textDelta","text":5}\n`,
      `${first}{"type":"textDelta","text":"a","part":"x"}\n`,
      `${first}{"type":"reasoningDelta","text":"a","signature":1}\n`,
      `${first}{"type":"reasoningDelta","signature":"s"}\n`,
      `${first}{"type":"toolCallDelta","id":"c"}\n`,
      `${first}{"type":"toolCallDelta","index":0,"argumentsDelta":{}}\n`,
      `${first}{"type":"usage"}\n`,
      `${first}{"type":"finish","reason":"because"}\n`,
      `${first}{"type":"reset"}\n`,
      `${first}{"type":5}\n`,
      `${first}{"type":"textDelta"\n`,
      `${first}done 5\n`,
      `${first}done {"reason":"stop","parts":[{"type":"text"}]}\n`,
      `${first}error {}\n`,
      `${first}${"x".repeat(2000)}`,
    ];
    for (const body of bad) {
      const fetch = fetchOf([new TextEncoder().encode(body)]);
      const client = proxyModel({ proxyUrl: "http://proxy.test/", fetch, maxLineBytes: 1000 });
      expect((await stream(client)).error, body).toMatchObject({ kind: "response-parse", retryable: false });
    }
  });

  it("may hold blank lines, and lines, chunks and kinds of a later version", async () => {
    const lines = [
      "ennead-model 1",
      "",
      "progress 50",
      '{"type":"imageDelta","data":"x"}',
      '{"type":"toString"}',
      '{"type":"textDelta","text":"ok","tone":"calm"}',
      '{"type":"usage","usage":{"inputTokens":3,"outputTokens":-1,"dollars":5}}',
      'done {"reason":"stop","usage":{"inputTokens":3},"mood":"good"}',
      '{"type":"textDelta","text":"after the end"}',
    ];
    const client = proxyModel({
      proxyUrl: "http://proxy.test/",
      fetch: fetchOf([new TextEncoder().encode(`${lines.join("\n")}\n`)]),
    });
    const { response } = await stream(client);
    expect(response).toEqual({ ...stopResponse("ok"), usage: { inputTokens: 3 } });
  });

  it("hides no name that JavaScript gives a meaning", async () => {
    const body = JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject;
    const reply = { parts: [{ type: "text", text: "ok", providerData: body }], finishReason: "stop" } as const;
    const { response } = await stream(
      direct(
        handlerOf(
          new ScriptedModel([
            modelStep.stream([{ type: "textDelta", text: "ok", providerData: body }, STOP_CHUNK], reply),
          ]),
        ),
      ),
    );
    expect(JSON.stringify(response)).toContain('"__proto__":{"polluted":true}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });
});
