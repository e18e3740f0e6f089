import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { ModelPort } from "../../../src/ports/model.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { request, tool, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

type Sent = {
  readonly tools?: readonly { readonly parameters?: unknown; readonly function?: { readonly parameters: unknown } }[];
  readonly response_format?: { readonly json_schema: { readonly schema?: unknown; readonly strict: boolean } };
  readonly text?: { readonly format: { readonly schema?: unknown; readonly strict: boolean } };
};

const wires: readonly (readonly [string, (baseUrl: string) => ModelPort])[] = [
  ["chat", (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl })],
  ["responses", (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl })],
];

const text = { type: "string" };
const closed = (properties: JsonObject) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

describe.each(wires)("a schema on the %s wire", (_, make) => {
  async function sent(fields: Partial<ChatRequest>): Promise<Sent> {
    await using server = await loopback(pieces(["{}"], JSON_TYPE));
    await wholeBy(make(server.baseUrl), request(fields));
    return server.requests[0]?.body as Sent;
  }
  const parametersOf = async (schema: JsonObject): Promise<unknown> => {
    const [first] = (await sent({ tools: [tool("f", schema)] })).tools ?? [];
    return first?.function?.parameters ?? first?.parameters;
  };
  const isStrict = async (responseSchema: JsonObject): Promise<boolean | undefined> => {
    const { response_format, text: field } = await sent({ options: { responseSchema } });
    return (response_format?.json_schema ?? field?.format)?.strict;
  };

  it("of a tool has no union on top, but what its alternatives offer", async () => {
    const a = { type: "object", properties: { a: text, kind: text }, required: ["a", "kind"] };
    const b = { type: "object", properties: { b: text, kind: text }, required: ["b", "kind"] };
    const whole = { type: "object", properties: { a: text, b: text, kind: text }, required: ["kind"] };
    for (const key of ["oneOf", "anyOf"]) {
      expect(await parametersOf({ type: "object", properties: {}, [key]: [a, b] })).toEqual(whole);
    }
    expect(await parametersOf({ allOf: [a, b] })).toEqual({ ...whole, required: ["a", "kind", "b"] });
    const plain = { type: "object", properties: { a: { anyOf: [text, { type: "null" }] } } };
    expect(await parametersOf({ ...plain, not: { required: ["b"] }, enum: [{}] })).toEqual(plain);
  });

  it("F087: of a tool that is a reference shows what it refers to, with what stands beside it", async () => {
    const a = { type: "object", properties: { a: text }, required: ["a"] };
    for (const [key, defs] of [
      ["$defs", { A: a }],
      ["definitions", { B: { $ref: "#/definitions/A" }, A: a }],
    ] as const) {
      const $ref = `#/${key}/${Object.keys(defs)[0]}`;
      expect(await parametersOf({ $ref, [key]: defs })).toEqual({ ...a, [key]: defs });
      const beside = { properties: { b: text }, required: ["b"], description: "Both." };
      expect(await parametersOf({ $ref, ...beside, [key]: defs })).toEqual({
        type: "object",
        properties: { a: text, b: text },
        required: ["a", "b"],
        description: "Both.",
        [key]: defs,
      });
    }
    const circle = { $defs: { A: { $ref: "#/$defs/A" } }, $ref: "#/$defs/A" };
    expect(await parametersOf(circle)).toMatchObject({ type: "object", properties: {} });
    expect(await parametersOf({ $ref: "#/$defs/None" })).toMatchObject({ type: "object", properties: {} });
    expect((await sent({ tools: [tool("f", { $ref: "#/$defs/T", $defs: { T: text } })] })).tools ?? []).toEqual([]);
  });

  it("F087: of a tool has what the alternatives on top refer to, each with all that tells it from the others", async () => {
    const kind = (name: string): JsonObject => ({ type: "string", const: name });
    const cat = { type: "object", properties: { kind: kind("cat"), lives: { type: "integer" } }, required: ["kind"] };
    const dog = { type: "object", properties: { kind: kind("dog"), tricks: text }, required: ["kind", "tricks"] };
    const $defs = { Cat: cat, Dog: dog };
    for (const key of ["oneOf", "anyOf"]) {
      expect(await parametersOf({ [key]: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }], $defs })).toEqual({
        type: "object",
        properties: {
          kind: { anyOf: [kind("cat"), kind("dog")] },
          lives: { type: "integer" },
          tricks: text,
        },
        required: ["kind"],
        $defs,
      });
    }
    expect(await parametersOf({ allOf: [{ $ref: "#/$defs/Cat" }], $defs })).toEqual({ ...cat, $defs });
  });

  it("F087: of a tool refers to places of its own only, where a library refers to a name", async () => {
    const tree = (k: JsonObject): JsonObject => ({
      type: "object",
      properties: { v: { type: "integer" }, k },
      required: ["v"],
    });
    const named = tree({ type: "array", items: { $ref: "T0" } });
    const value = { type: "object", properties: { $id: text }, default: { $id: "T0", $ref: "T0" } };
    const schema = { type: "object", properties: { a: { $id: "T0", ...named }, b: { $ref: "T0" }, value } };
    expect(await parametersOf(schema)).toEqual({
      type: "object",
      properties: { a: { $ref: "#/$defs/T0" }, b: { $ref: "#/$defs/T0" }, value },
      $defs: { T0: tree({ type: "array", items: { $ref: "#/$defs/T0" } }) },
    });
    const taken = { ...schema, $defs: { T0: text } };
    expect(await parametersOf(taken)).toMatchObject({
      properties: { a: { $ref: "#/$defs/T0_" } },
      $defs: { T0: text, T0_: { properties: { k: { items: { $ref: "#/$defs/T0_" } } } } },
    });
    expect(await parametersOf({ $id: "T1", ...tree({ $ref: "T1" }) })).toEqual(tree({ $ref: "#" }));
    const proto = { type: "object", properties: { a: { $id: "__proto__", ...text }, b: { $ref: "__proto__" } } };
    expect(await parametersOf(proto)).toMatchObject({ properties: { b: { $ref: "#/$defs/__proto__" } } });
    const unused = { type: "object", $id: "https://x.test/a", properties: { a: { $id: "T2", ...text } } };
    expect(await parametersOf(unused)).toEqual(unused);
  });

  it("F087: of a reply is what it refers to, and strict where that is", async () => {
    const reply = closed({ a: text });
    for (const responseSchema of [
      { $ref: "#/definitions/A", definitions: { A: reply } },
      { $ref: "A", definitions: { A: { $id: "A", ...reply } } },
    ]) {
      const { response_format, text: field } = await sent({ options: { responseSchema } });
      const { schema, strict } = response_format?.json_schema ?? field?.format ?? {};
      expect(schema).toMatchObject(reply);
      expect(schema).not.toHaveProperty("$ref");
      expect(strict).toBe(true);
    }
  });

  it("F085: of a tool has no enum of nothing, and demands nothing twice", async () => {
    const schema = { type: "object", properties: { a: { enum: [] }, b: text }, required: ["b", "a", "b"] };
    expect(await parametersOf(schema)).toEqual({ ...schema, properties: { a: {}, b: text }, required: ["b", "a"] });
  });

  it.each<[string, JsonObject]>([
    ["an object without properties", closed({ meta: { type: "object" } })],
    ["an open object in a list", closed({ list: { type: "array", items: { type: "object" } } })],
    ["an open object in a branch", closed({ a: { anyOf: [text, { type: ["object", "null"], properties: {} }] } })],
    ["an object alone", { type: "object" }],
    ["an object that requires less than it has", { ...closed({ a: text }), required: [] }],
    ["a union on top", { anyOf: [closed({ a: text }), closed({ b: text })] }],
    ["a list on top", { type: "array", items: text }],
    ["oneOf inside", closed({ a: { oneOf: [text, { type: "number" }] } })],
    ["allOf inside", closed({ a: { allOf: [closed({ b: text })] } })],
    ["a default", closed({ a: { type: "string", default: "x" } })],
    ["a format nobody enforces", closed({ a: { type: "string", format: "uri" } })],
    ["a list of anything", closed({ a: { type: "array" } })],
    ["anything", closed({ a: {} })],
    ["a keyword beside a reference", { ...closed({ a: { $ref: "#/$defs/b", description: "b" } }), $defs: { b: text } }],
    ["an open definition", { ...closed({ a: { $ref: "#/$defs/b" } }), $defs: { b: { type: "object" } } }],
  ])("of a reply is not enforced where it has %s", async (_what, schema) => {
    expect(await isStrict(schema)).toBe(false);
  });

  it("of a reply is enforced where all of it can be", async () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      ...closed({
        none: closed({}),
        default: { type: "string", pattern: "^a", description: "a property that is called like a keyword" },
        either: { anyOf: [{ type: "null" }, closed({ at: { type: "string", format: "date" } })] },
        kind: { type: "string", enum: ["a", "b"] },
        list: { type: "array", items: { $ref: "#/$defs/node" }, minItems: 1 },
      }),
      $defs: { node: closed({ next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } }) },
    };
    expect(await isStrict(schema)).toBe(true);
  });
});
