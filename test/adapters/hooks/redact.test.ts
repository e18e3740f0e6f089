import { describe, expect, it, test } from "vitest";
import { redact, type RedactOptions } from "../../../src/adapters/hooks/redact.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { textOf } from "../../../src/domain/message.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import {
  pipelineHookClaims,
  runClaims,
  stopResponse,
  testAgent,
  type TestAgent,
  toolCallResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";

const SECRET = 'p@ss"word/42';
const EMAIL = { name: "email", pattern: /[\w.]+@[\w.]+\.\w+/ };
const options: RedactOptions = { secrets: [SECRET], patterns: [EMAIL] };

/** Everything that left the agent: requests, events, results, what is stored. */
async function traces({ model, observer, agent }: TestAgent, ...more: unknown[]): Promise<string> {
  const requests = model.calls.map(({ request }) => [request.messages, request.tools]);
  return JSON.stringify([requests, observer.events, await agent.session("s"), more]);
}

const FORMS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString("base64"),
];

function expectClean(text: string): void {
  for (const form of [...FORMS, "ann@example.com"]) {
    expect(text).not.toContain(form);
    expect(text).not.toContain(JSON.stringify(form).slice(1, -1));
  }
}

describe("redact", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({
      hook: redact(options),
      acts: [
        {
          stage: { kind: "beforeTool" as const, call: { id: "c", name: "w", arguments: { key: SECRET } } },
          outcome: "next" as const,
        },
      ],
    }),
    capabilities: { defers: { missing: "it decides about no call" }, abort: { missing: "it never waits" } },
  });

  it("keeps what it finds out of store, requests, events, tools and results", async () => {
    const call = toolCallResponse("look", "c1", { key: SECRET, list: [{ mail: "ann@example.com" }], [SECRET]: 1 });
    await using t = await testAgent({
      script: [call, { ...stopResponse(`it is ${SECRET}`) }],
      tools: { look: toolOutcome.ok({ key: SECRET, deep: { [SECRET]: FORMS } }) },
      hooks: [redact(options)],
      config: { streaming: false, system: `Never say ${SECRET}.` },
    });
    const result = await t.agent.runTurn(`mail ann@example.com the ${SECRET}`, "s");
    expectClean(await traces(t, result, t.tools.execRecords));
    expect(result.text).toBe("it is [redacted secret]");
    expect(t.tools.execRecords[0]?.arguments).toMatchObject({
      key: "[redacted secret]",
      list: [{ mail: "[redacted email]" }],
    });
  });

  it("finds what is split over the parts of a message or a reply", async () => {
    const reply: ModelResponse = {
      parts: [
        { type: "text", text: `one ${SECRET.slice(0, 4)}` },
        { type: "reasoning", text: `so ann@exam`, signature: "signed" },
        { type: "text", text: SECRET.slice(4, 8), providerData: { signed: true } },
        { type: "reasoning", text: "ple.com it is", signature: "signed" },
        { type: "text", text: `${SECRET.slice(8)} two` },
      ],
      finishReason: "stop",
    };
    await using t = await testAgent({ script: [reply], hooks: [redact(options)], config: { streaming: false } });
    const parts = ["a ann@", "example", ".com b"].map((text) => ({ type: "text", text }) as const);
    const result = await t.agent.runTurn({ role: "user", content: parts }, "s");
    expect(result.message?.parts).toEqual([
      { type: "text", text: "one [redacted secret]" },
      { type: "reasoning", text: "so [redacted email]" },
      { type: "text", text: "" },
      { type: "reasoning", text: " it is" },
      { type: "text", text: " two" },
    ]);
    const [said] = (await t.agent.session("s")).messages;
    expect(said).toMatchObject({ content: [{ text: "a [redacted email]" }, { text: "" }, { text: " b" }] });
  });

  it("finds in a part what a pattern would not see in the parts together", async () => {
    await using t = await testAgent({
      script: [stopResponse("ok")],
      hooks: [redact({ patterns: [{ name: "card", pattern: /\b\d{13,16}\b/ }] })],
    });
    const content = ["4111111111111111", "2 items", ""].map((text) => ({ type: "text", text }) as const);
    await t.agent.runTurn({ role: "user", content }, "s");
    const [said] = (await t.agent.session("s")).messages;
    expect(said).toMatchObject({ content: [{ text: "[redacted card]" }, { text: "2 items" }, { text: "" }] });
  });

  const TOKEN = "tökén/with 'signs' & (more)\\\n!";
  const json = JSON.stringify(TOKEN).slice(1, -1);
  it.each([
    ["in an address, in lower case", encodeURIComponent(TOKEN).toLowerCase()],
    [
      "in an address of RFC 3986",
      encodeURIComponent(TOKEN).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`),
    ],
    ["in a form", new URLSearchParams({ t: TOKEN }).toString()],
    ["in a path", encodeURI(TOKEN)],
    ["in ASCII JSON", json.replace("ö", "\\u00f6").replace("é", "\\u00e9")],
    ["in JSON with escaped slashes", json.replaceAll("/", "\\/")],
    ["in JSON within JSON", JSON.stringify(json)],
    ["behind a user in base64", Buffer.from(`ann:${TOKEN}`).toString("base64")],
    ["behind one byte in base64", Buffer.from(`:${TOKEN}:`).toString("base64")],
    ["behind two bytes in base64url", Buffer.from(`a:${TOKEN}, and so on`).toString("base64url")],
    ["before others in base64", Buffer.from(`${TOKEN}:x`).toString("base64")],
  ])("finds a secret %s", async (_title, form) => {
    await using t = await testAgent({ script: [stopResponse("ok")], hooks: [redact({ secrets: [TOKEN] })] });
    await t.agent.runTurn(`<${form}>`, "s");
    const [said] = (await t.agent.session("s")).messages;
    expect(textOf(said as never)).toMatch(/^<.{0,9}\[redacted secret\].{0,18}>$/);
  });

  it("finds no short secret in base64 that only looks alike", async () => {
    await using t = await testAgent({ script: [stopResponse("ok")], hooks: [redact({ secrets: ["abc"] })] });
    const innocent = [1, 2].map((n) => Buffer.from(`${"-".repeat(n)}abc---`).toString("base64")).join(" ");
    await t.agent.runTurn(innocent, "s");
    expect(textOf((await t.agent.session("s")).messages[0] as never)).toBe(innocent);
  });

  it("keeps what it finds out of the schemas of tools, whose numbers stay", async () => {
    const inputSchema = {
      type: "object",
      properties: { key: { type: "string", default: SECRET }, n: { type: "number", maximum: 9007199254740991 } },
    };
    await using t = await testAgent({
      script: [stopResponse("ok")],
      providers: [{ listTools: () => [{ name: "look", description: SECRET, inputSchema }], execute: () => "" }],
      hooks: [redact({ ...options, patterns: [/\d{12,19}/] })],
    });
    await t.agent.runTurn("hi", "s");
    const [tool] = t.model.calls[0]?.request.tools ?? [];
    expect(tool).toMatchObject({
      description: "[redacted secret]",
      inputSchema: { properties: { key: { default: "[redacted secret]" }, n: { maximum: 9007199254740991 } } },
    });
  });

  it("keeps what it finds out of calls that are no JSON", async () => {
    const malformed = { raw: `{"key": ${SECRET}`, reason: `no JSON at ${SECRET}` };
    const call = { type: "toolCall", id: "c1", name: "look", arguments: {}, malformed } as const;
    await using t = await testAgent({
      script: [{ parts: [call], finishReason: "tool-calls" }, stopResponse("ok")],
      hooks: [redact(options)],
      config: { streaming: false },
    });
    expectClean(await traces(t, await t.agent.runTurn("hi", "s")));
  });

  it("leaves what has nothing to redact as it was, signatures and numbers included", async () => {
    const reply: ModelResponse = {
      parts: [
        { type: "reasoning", text: "hm", signature: "signed", providerData: { a: 1 } },
        { type: "toolCall", id: "c1", name: "look", arguments: { n: 12, z: null, b: true }, raw: '{"n":12.0}' },
      ],
      finishReason: "tool-calls",
    };
    await using t = await testAgent({
      script: [reply, stopResponse("ok")],
      tools: { look: toolOutcome.ok({ n: 1.5 }) },
      hooks: [redact(options)],
    });
    await t.agent.runTurn("hi", "s");
    const [, stored] = (await t.agent.session("s")).messages;
    expect(stored).toMatchObject({ parts: reply.parts });
  });

  it("redacts numbers, overlapping finds once, and never what it put there itself", async () => {
    const patterns = [
      { name: "card", pattern: /\d{12,19}/ },
      { name: "digits", pattern: /\d{4}/ },
      { name: "redacted", pattern: /redacted/ },
      { name: "empty", pattern: /x*/ },
    ];
    await using t = await testAgent({
      script: [toolCallResponse("pay", "c1", { card: 4111111111111111, note: "4111 and 4111111111111111 xx" })],
      tools: { pay: toolOutcome.ok({ content: [], isError: false, terminate: true }) },
      hooks: [redact({ patterns })],
    });
    await t.agent.runTurn("hi", "s");
    const args = t.tools.execRecords[0]?.arguments as JsonObject;
    expect(args).toEqual({ card: "[redacted card]", note: "[redacted digits] and [redacted card] [redacted empty]" });
  });

  it("finds a secret that dresses up as what is redacted", async () => {
    await using t = await testAgent({
      script: [stopResponse("ok")],
      hooks: [redact({ secrets: ["hunter2", "secret"] })],
    });
    await t.agent.runTurn("[redacted hunter2] [redacted secret] [redacted secret", "s");
    const [said] = (await t.agent.session("s")).messages;
    expect(said).toMatchObject({
      content: [{ text: "[redacted [redacted secret]] [redacted secret] [redacted [redacted secret]" }],
    });
  });

  it("asks for secrets each time, so that those of tomorrow are found", async () => {
    const secrets: string[] = [""];
    await using t = await testAgent({
      script: [stopResponse("a"), stopResponse("b")],
      hooks: [redact({ secrets: () => secrets })],
    });
    await t.agent.runTurn("new-key", "s");
    secrets.push("new-key");
    await t.agent.runTurn("is it new-key?", "s");
    expect(JSON.stringify(t.model.calls[1]?.request.messages)).not.toContain("new-key");
  });

  it("takes a hostile text in linear time", async () => {
    const hook = redact({ patterns: [/(a+)+b/, EMAIL] });
    await using t = await testAgent({ script: [stopResponse("ok")], hooks: [hook] });
    expect((await t.agent.runTurn(`${"a".repeat(50_000)}!`, "s")).text).toBe("ok");
  });

  it("turns a text away whose matches look too far ahead of themselves", async () => {
    await using t = await testAgent({ script: [stopResponse("ok")], hooks: [redact({ patterns: [/a.*z|a/] })] });
    await expect(t.agent.runTurn("a".repeat(20_000), "s")).rejects.toMatchObject({ kind: "hook-aborted" });
    expect((await t.agent.runTurn("an ant and a cat", "s")).text).toBe("ok");
  });

  it("fails closed where something cannot be looked through", async () => {
    const failing = (place: "request" | "reply" | "arguments" | "results"): RedactOptions => ({
      places: [place],
      secrets: () => {
        throw new Error("the vault is closed");
      },
    });
    const script = [toolCallResponse("look", "c1", {}), stopResponse("ok")];
    const tools = { look: toolOutcome.ok(SECRET) };
    await using request = await testAgent({ script, tools, hooks: [redact(failing("request"))] });
    await expect(request.agent.runTurn("hi", "s")).rejects.toMatchObject({ kind: "hook-aborted" });
    expect(request.model.callCount).toBe(0);
    await using reply = await testAgent({
      script: [stopResponse(SECRET)],
      hooks: [redact(failing("reply"))],
      config: { streaming: false },
    });
    expect((await reply.agent.runTurn("hi", "s")).text).toBe("[blocked: it could not be redacted]");
    await using args = await testAgent({
      script: [toolCallResponse("look", "c1", { k: SECRET }), stopResponse("ok")],
      tools,
      hooks: [redact(failing("arguments"))],
    });
    await args.agent.runTurn("hi", "s");
    expect(args.tools.execRecords).toEqual([]);
    await using results = await testAgent({ script, tools, hooks: [redact(failing("results"))] });
    const result = await results.agent.runTurn("hi", "s");
    expect(result.toolResults).toMatchObject([{ isError: true }]);
    expectClean(await traces(results, result));
  });

  it("redacts at the places it is asked for", async () => {
    await using t = await testAgent({
      script: [stopResponse(SECRET)],
      hooks: [redact({ ...options, places: ["request"] })],
    });
    const result = await t.agent.runTurn(SECRET, "s");
    expect([result.text, JSON.stringify(t.model.calls[0]?.request.messages).includes("p@ss")]).toEqual([SECRET, false]);
  });

  it.each([
    undefined,
    {},
    { patterns: [] },
    { patterns: ["a"] },
    { patterns: [/(?=a)b/] },
    { patterns: [/(a)\1/] },
    { secrets: [""] },
    { secrets: "word" },
    { secrets: ["a"], places: ["everywhere"] },
    { secret: ["a"] },
  ])("refuses the options %j", (given) => {
    expect(() => redact(given as never)).toThrow(CompositionError);
  });
});
