import { describe, expect, it } from "vitest";
import type { GeminiOptions } from "../../../src/adapters/models/gemini.js";
import { geminiSchema } from "../../../src/adapters/models/gemini/gemini-schema.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { ChatOptions, ReasoningEffort } from "../../../src/domain/model.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { request, tool, user } from "./chat-outcome.js";
import { end, gemini, text } from "./gemini-wire.js";
import { loopback, pieces } from "./loopback.js";

async function bodyOf(fields: Partial<ChatRequest>, options: Partial<GeminiOptions> = {}) {
  await using server = await loopback(pieces([text("hi") + end()]));
  await gemini({ baseUrl: server.baseUrl, ...options }).chat(request(fields));
  return server.requests[0]?.body ?? {};
}

const withOptions = (options: ChatOptions, more: Partial<GeminiOptions> = {}) => bodyOf({ options }, more);

describe("the request", () => {
  it("holds nothing but what was asked for", async () => {
    expect(await bodyOf({})).toEqual({
      contents: [{ role: "user", parts: [{ text: "hello" }] }],
      generationConfig: {},
    });
  });

  it("carries every option in the wire's words, and the provider's own last", async () => {
    const body = await withOptions({
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ["END"],
      seed: 7,
      serviceTier: "flex",
      providerOptions: { safetySettings: [], generationConfig: { topK: 3, seed: 8 } },
    });
    expect(body).toEqual({
      contents: [{ role: "user", parts: [{ text: "hello" }] }],
      generationConfig: { temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: ["END"], seed: 8, topK: 3 },
      serviceTier: "flex",
      safetySettings: [],
    });
  });

  it("carries bytes inline and addresses as they are", async () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", source: { base64: "AAAA" } },
      { type: "image", mimeType: "image/*", source: { url: "data:image/webp;base64,UklGRiQAAABXRUJQ" } },
      { type: "file", mimeType: "application/pdf", source: { url: "https://files.test/a.pdf" }, name: "a.pdf" },
      { type: "file", mimeType: "video/mp4", source: { url: "gs://bucket/a.mp4" } },
      { type: "file", mimeType: "text/plain", source: { url: "file:///etc/passwd" } },
      { type: "image", mimeType: "image/png", source: { base64: "" } },
    ] as const;
    const { contents } = await bodyOf({ messages: [{ role: "user", id: "u", at: 0, content }] });
    expect(contents).toEqual([
      {
        role: "user",
        parts: [
          { text: "look" },
          { inlineData: { mimeType: "image/png", data: "AAAA" } },
          { inlineData: { mimeType: "image/webp", data: "UklGRiQAAABXRUJQ" } },
          { fileData: { mimeType: "application/pdf", fileUri: "https://files.test/a.pdf" } },
          { fileData: { mimeType: "video/mp4", fileUri: "gs://bucket/a.mp4" } },
          { text: expect.stringContaining("A file that cannot be shown") as string },
          { text: expect.stringContaining("An image that cannot be shown") as string },
        ],
      },
    ]);
  });

  it("is well-formed text where the user's is not", async () => {
    const { contents } = await bodyOf({ messages: [user("a\ud800b")] });
    expect(contents).toEqual([{ role: "user", parts: [{ text: "a\ufffdb" }] }]);
  });
});

describe("tools", () => {
  const properties = { a: { type: "string" } };

  it("are declared in one list, without a schema where nothing can be given", async () => {
    const { tools } = await bodyOf({
      tools: [tool("f", { type: "object", properties }), tool("g"), { ...tool("h"), description: "" }],
    });
    expect(tools).toEqual([
      {
        functionDeclarations: [
          { name: "f", description: "does f", parametersJsonSchema: { type: "object", properties } },
          { name: "g", description: "does g" },
          { name: "h" },
        ],
      },
    ]);
  });

  it("have names the provider accepts, no two alike (F082, F084)", async () => {
    const names = [
      "fs.list",
      "team/roster",
      "größe messen",
      "",
      "1st",
      "-x",
      "fs_list",
      `${"x".repeat(70)}_read`,
      `${"x".repeat(70)}_write`,
    ];
    const body = await bodyOf({ tools: names.map((name) => tool(name)) });
    const sent = (body["tools"] as [{ functionDeclarations: { name: string }[] }])[0].functionDeclarations.map(
      ({ name }) => name,
    );
    expect(new Set(sent).size).toBe(names.length);
    for (const name of sent) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  });

  it("whose schema is a reference are described by what it refers to (F085, F087)", async () => {
    const a = { type: "object", properties: { x: { type: "string" } } };
    const { tools } = await bodyOf({
      tools: [{ ...tool("f"), inputSchema: { $ref: "#/definitions/A", definitions: { A: a } } }],
    });
    expect(tools).toMatchObject([
      { functionDeclarations: [{ name: "f", parametersJsonSchema: { ...a, $defs: { A: a } } }] },
    ]);
  });

  it("whose schema cannot be that of an object are left out; one without a schema takes nothing (F085)", async () => {
    const odd = (name: string, inputSchema: unknown) => ({ ...tool(name), inputSchema: inputSchema as JsonObject });
    const { tools } = await bodyOf({
      tools: [odd("s1", { type: "string" }), odd("s2", undefined), odd("s3", null), odd("s4", { properties })],
    });
    expect(tools).toMatchObject([
      {
        functionDeclarations: [
          { name: "s2" },
          { name: "s3" },
          { name: "s4", parametersJsonSchema: { type: "object", properties } },
        ],
      },
    ]);
  });

  it.each([
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [{ tool: "fs.list" }, { mode: "ANY", allowedFunctionNames: [expect.stringMatching(/^fs_list_[0-9a-f]{8}$/)] }],
  ] as const)("are chosen: %j", async (toolChoice, functionCallingConfig) => {
    const { toolConfig } = await bodyOf({ tools: [tool("fs.list")], options: { toolChoice } });
    expect(toolConfig).toEqual({ functionCallingConfig });
  });

  it("are not spoken of where there are none", async () => {
    const body = await withOptions({ toolChoice: "required" });
    expect([body["tools"], body["toolConfig"]]).toEqual([undefined, undefined]);
  });
});

describe("a schema", () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      "keeps what the provider takes",
      {
        type: "object",
        title: "t",
        description: "d",
        properties: {
          n: { type: "integer", minimum: 1, maximum: 5 },
          l: { type: "array", items: { type: "string", format: "date" }, minItems: 1 },
        },
        required: ["n"],
        additionalProperties: false,
      },
      {
        type: "object",
        title: "t",
        description: "d",
        properties: {
          n: { type: "integer", minimum: 1, maximum: 5 },
          l: { type: "array", items: { type: "string", format: "date" }, minItems: 1 },
        },
        required: ["n"],
        additionalProperties: false,
      },
    ],
    [
      "loses keywords the provider does not know, never a property of that name",
      {
        $schema: "x",
        type: "object",
        properties: {
          default: { type: "string", default: "a", pattern: "^a", minLength: 2 },
          not: { not: {}, type: "number", exclusiveMinimum: 1, multipleOf: 2 },
        },
        patternProperties: {},
        if: {},
        then: {},
      },
      { type: "object", properties: { default: { type: "string" }, not: { type: "number" } } },
    ],
    [
      "turns const into enum",
      { properties: { k: { const: "a" }, n: { const: 3 }, b: { const: true }, z: { const: null } } },
      {
        properties: {
          k: { type: "string", enum: ["a"] },
          n: { type: "number", enum: [3] },
          b: { type: "boolean" },
          z: { type: "null" },
        },
      },
    ],
    [
      "keeps of an enum what its type allows (F089)",
      {
        anyOf: [
          { enum: ["lo", "hi"], type: "string" },
          { enum: ["lo", "hi"], type: "null" },
        ],
      },
      { anyOf: [{ type: "string", enum: ["lo", "hi"] }, { type: "null" }] },
    ],
    [
      "parts null from an enum",
      { properties: { m: { type: ["string", "null"], enum: ["lo", null] } } },
      { properties: { m: { anyOf: [{ type: "string", enum: ["lo"] }, { type: "null" }] } } },
    ],
    [
      "forbids no value that cannot be listed",
      { properties: { m: { enum: ["lo", true] } } },
      { properties: { m: { type: ["string", "boolean"] } } },
    ],
    [
      "keeps nothing beside a reference (F087)",
      {
        type: "object",
        properties: { size: { $ref: "#/$defs/K", default: "big" } },
        $defs: { K: { type: "string", enum: ["small", "big"] } },
      },
      {
        type: "object",
        properties: { size: { $ref: "#/$defs/K" } },
        $defs: { K: { type: "string", enum: ["small", "big"] } },
      },
    ],
    [
      "moves definitions to where references find them",
      { properties: { k: { $ref: "#/definitions/K" } }, definitions: { K: { const: 1 } } },
      { properties: { k: { $ref: "#/$defs/K" } }, $defs: { K: { type: "number", enum: [1] } } },
    ],
    [
      "lets anything stand for a reference to nowhere",
      { properties: { k: { $ref: "https://x.test/y" }, l: { $ref: "#/properties/k" } } },
      { properties: { k: {}, l: {} } },
    ],
    [
      "joins allOf",
      {
        allOf: [
          { properties: { a: { type: "string" } }, required: ["a"] },
          { properties: { b: {} }, required: ["b"] },
        ],
        properties: { c: {} },
      },
      { properties: { c: {}, a: { type: "string" }, b: {} }, required: ["a", "b"] },
    ],
    [
      "demands no property that it does not have",
      { type: "object", properties: { a: {} }, required: ["a", "ghost"] },
      { type: "object", properties: { a: {} }, required: ["a"] },
    ],
    [
      "reads true, false and tuples",
      {
        properties: { any: true, none: false, t: { type: "array", items: [{ type: "string" }, true] } },
        additionalProperties: { const: "x" },
      },
      {
        properties: { any: {}, t: { type: "array", prefixItems: [{ type: "string" }, {}] } },
        additionalProperties: { type: "string", enum: ["x"] },
      },
    ],
  ])("%s", (_, schema, wanted) => {
    expect(geminiSchema(schema)).toEqual(wanted);
  });

  it("of the reply is enforced, except beside tools that must be called, and any tools before Gemini 3", async () => {
    const responseSchema = { type: "object", properties: { a: { const: "x" } } };
    const sent = {
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object", properties: { a: { type: "string", enum: ["x"] } } },
    };
    expect(await withOptions({ responseSchema })).toMatchObject({ generationConfig: sent });
    const both = { options: { responseSchema }, tools: [tool("f")] };
    expect(await bodyOf(both)).toMatchObject({ generationConfig: sent });
    const forced = await bodyOf({ ...both, options: { responseSchema, toolChoice: "required" } });
    expect(forced["generationConfig"]).toEqual({});
    expect((await bodyOf(both, { model: "gemini-2.5-flash" }))["generationConfig"]).toEqual({});
  });
});

describe("an effort", () => {
  const efforts: readonly ReasoningEffort[] = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"];
  const level = (...levels: readonly string[]) => levels.map((thinkingLevel) => ({ thinkingLevel }));
  const budget = (...budgets: readonly number[]) => budgets.map((thinkingBudget) => ({ thinkingBudget }));

  it.each<[string, readonly object[]]>([
    ["gemini-3-flash", level("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")],
    ["gemini-3.1-pro-preview", level("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")],
    ["gemini-3.8-flash", level("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")],
    ["models/gemini-flash-lite-latest", level("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")],
    ["gemini-4-hydrogen", level("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "XHIGH", "XHIGH")],
    ["gemini-2.5-flash", budget(0, 512, 2048, 8192, 16_384, 24_576, 24_576)],
    ["gemini-2.5-pro", budget(128, 512, 2048, 8192, 16_384, 24_576, 32_768)],
  ])("of %s is the thinking the model knows, with thoughts unless it is off", async (model, wanted) => {
    const sent: unknown[] = [];
    for (const reasoningEffort of efforts) {
      const { generationConfig } = await withOptions({ reasoningEffort }, { model });
      sent.push((generationConfig as { thinkingConfig: unknown }).thinkingConfig);
    }
    expect(sent).toEqual(wanted.map((one, at) => (at === 0 ? one : { ...one, includeThoughts: true })));
  });

  it("may be told otherwise, and so may the form of the wire and the thoughts", async () => {
    const efforts = { high: { thinkingBudget: -1 } };
    expect(await withOptions({ reasoningEffort: "high" }, { efforts, includeThoughts: false })).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingBudget: -1 } },
    });
    expect(await withOptions({ reasoningEffort: "low" }, { model: "mine", generation: 3 })).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingLevel: "LOW" } },
    });
    expect(await withOptions({}, { includeThoughts: true })).toMatchObject({
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    });
  });
});
