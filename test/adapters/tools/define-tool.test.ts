import { describe, expect, expectTypeOf, it, test } from "vitest";
import {
  defineTool,
  type DefinedTool,
  FormatRegistry,
  Kind,
  type Static,
  type TSchema,
  Type,
  TypeRegistry,
} from "../../../src/adapters/tools/index.js";
import { CompositionError, ToolError } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { okResult, type ToolResult } from "../../../src/domain/tool.js";
import type { ToolContext } from "../../../src/ports/tool-provider.js";
import { runClaims, testToolContext, toolProviderClaims } from "../../../src/testkit/index.js";

const weather = Type.Object({
  city: Type.String({ minLength: 1 }),
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: 7 })),
});

const tool = (parameters: typeof weather | Parameters<typeof defineTool>[0]["parameters"]): DefinedTool =>
  defineTool({ name: "t", description: "A tool.", parameters, execute: () => "ok" });

const issues = (parameters: Parameters<typeof tool>[0], args: JsonObject) => {
  const validation = tool(parameters).validate("t", args);
  return validation.ok ? [] : validation.issues.map(({ path, expected }) => `${path} ${expected}`);
};

describe("defineTool", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    capabilities: { changes: { missing: "one tool never changes" }, abort: { missing: "that is up to each tool" } },
    make: () => ({
      provider: defineTool({
        name: "weather",
        description: "Tells the weather.",
        parameters: weather,
        execute: ({ city }) => ({ city, sky: "clear" }),
      }),
      call: { name: "weather", arguments: { city: "Bern" } },
      invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
    }),
  });

  it("infers arguments, results and hooks from the schemas", () => {
    defineTool({
      name: "weather",
      description: "Tells the weather.",
      parameters: weather,
      output: Type.Object({ sky: Type.String() }),
      conflictKeys: (args) => [args.city],
      beforeExecute: ({ args, call }, context) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number }>();
        expectTypeOf(call.name).toEqualTypeOf<string>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        return { args: { city: "Bern" } };
      },
      afterExecute: ({ args, result }) => {
        expectTypeOf(args.city).toEqualTypeOf<string>();
        expectTypeOf(result).toEqualTypeOf<ToolResult>();
      },
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<Static<typeof weather>>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return { sky: "clear" };
      },
    });
  });

  it("refuses at compile time what the schemas rule out", () => {
    const base = { name: "t", description: "", parameters: weather } as const;
    // @ts-expect-error: the schema has no such argument
    defineTool({ ...base, execute: ({ town }) => String(town) });
    // @ts-expect-error: the output schema says text
    defineTool({ ...base, output: Type.Object({ sky: Type.String() }), execute: () => ({ sky: 5 }) });
    // @ts-expect-error: other arguments must fit the schema too
    defineTool({ ...base, beforeExecute: () => ({ args: { city: 5 } }), execute: () => "ok" });
    expectTypeOf<Parameters<typeof tool>[0]>().not.toExtend<string>();
  });

  it("returns interfaces, promises, results or nothing without a word", () => {
    interface Row {
      readonly id: number;
    }
    const rows: readonly Row[] = [{ id: 1 }];
    const base = { name: "t", description: "", parameters: Type.Object({}) };
    const tools = [
      defineTool({ ...base, execute: () => ({ rows, first: rows[0] }) }),
      defineTool({ ...base, execute: async () => "text" }),
      defineTool({ ...base, execute: () => okResult("x") }),
      defineTool({ ...base, execute: () => {} }),
    ];
    expect(tools).toHaveLength(4);
  });

  it("lists the same frozen definition each time, with the schema as plain JSON", () => {
    const defined = tool(weather);
    const context = { signal: new AbortController().signal };
    expect(defined.listTools(context)).toEqual([defined.def]);
    expect(defined.listTools(context)).toBe(defined.listTools(context));
    expect(Object.isFrozen(defined.def.inputSchema["properties"])).toBe(true);
    expect(Object.isFrozen(weather)).toBe(false);
    expect(defined.def.inputSchema).toEqual(JSON.parse(JSON.stringify(weather)));
    expect(defined.def).not.toHaveProperty("label");
  });

  it("names path and expectation of each fault, and no value", () => {
    const schema = Type.Object({
      s: Type.String(),
      n: Type.Optional(Type.Integer({ minimum: 2 })),
      e: Type.Union([Type.Literal("a"), Type.Literal("b"), Type.Number()]),
      list: Type.Optional(Type.Array(Type.Object({ "a/b": Type.Boolean() }))),
    });
    expect(issues(schema, { n: 1.5, e: "hunter-2222", list: [{ "a/b": "hunter-2222" }] })).toEqual([
      "/s required: string",
      "/n integer",
      '/e "a" or "b" or number',
      "/list/0/a~1b boolean",
    ]);
    expect(issues(Type.Object({}, { additionalProperties: false }), { x: "hunter-2222" })).toEqual([
      "/x nothing: there is no such property",
    ]);
  });

  it("tells what is wrong in the branch of a union that comes nearest", () => {
    const schema = Type.Object({
      shape: Type.Union([
        Type.Object({ kind: Type.Literal("circle"), radius: Type.Number() }),
        Type.Object({ kind: Type.Literal("square"), side: Type.Number() }),
      ]),
    });
    expect(issues(schema, { shape: { kind: "square", side: "2" } })).toEqual(["/shape/side number"]);
    expect(issues(schema, { shape: 5 })).toEqual(["/shape object"]);
  });

  it("tells at most 16 faults", () => {
    expect(issues(Type.Object({ l: Type.Array(Type.Number()) }), { l: Array(100).fill("x") })).toHaveLength(16);
  });

  it("checks recursive schemas and references", () => {
    const node = Type.Recursive((self) => Type.Object({ name: Type.String(), children: Type.Array(self) }));
    const schema = Type.Object({ node });
    expect(issues(schema, { node: { name: "a", children: [{ name: "b", children: [] }] } })).toEqual([]);
    expect(issues(schema, { node: { name: "a", children: [{ children: [] }] } })).toEqual([
      "/node/children/0/name required: string",
    ]);
  });

  it.each<[string, unknown, JsonObject, boolean]>([
    ["an enum", Type.Unsafe<"x">({ type: "string", enum: ["x", "y"] }), { v: "y" }, true],
    ["an enum", Type.Unsafe<"x">({ type: "string", enum: ["x", "y"] }), { v: "z" }, false],
    ["a const", Type.Unsafe<1>({ const: 1 }), { v: 2 }, false],
    ["a nullable type", Type.Unsafe<string | null>({ type: ["string", "null"] }), { v: null }, true],
    ["a nullable type", Type.Unsafe<string | null>({ type: ["string", "null"] }), { v: 1 }, false],
    ["a union", Type.Unsafe({ oneOf: [{ type: "number" }, { enum: ["x", null] }] }), { v: null }, true],
    ["a union", Type.Unsafe({ oneOf: [{ type: "number" }, { enum: ["x", null] }] }), { v: "y" }, false],
    ["members of allOf", Type.Unsafe({ allOf: [{ type: "number" }, { type: "integer" }] }), { v: 1.5 }, false],
    [
      "objects and lists",
      Type.Unsafe({
        type: "object",
        properties: { l: { type: "array", items: { type: "integer", minimum: 2 } } },
        required: ["l"],
      }),
      { v: { l: [3] } },
      true,
    ],
    [
      "objects and lists",
      Type.Unsafe({
        type: "object",
        properties: { l: { type: "array", items: { type: "integer", minimum: 2 } } },
        required: ["l"],
      }),
      { v: { l: [1] } },
      false,
    ],
    ["maps", Type.Unsafe({ type: "object", additionalProperties: { type: "string" } }), { v: { a: 1 } }, false],
    ["what it does not know", Type.Unsafe({ if: {}, format: "odd" }), { v: 1 }, true],
    [
      "properties beside a union",
      Type.Unsafe({ type: "object", properties: { a: { type: "integer" } }, anyOf: [{ required: ["a"] }] }),
      { v: { a: "x" } },
      false,
    ],
    ["names that are required and nothing more", Type.Unsafe({ type: "object", required: ["a"] }), { v: {} }, false],
    ["bounds without a type", Type.Unsafe({ minimum: 3 }), { v: 1 }, false],
    ["a tuple", Type.Unsafe({ type: "array", prefixItems: [{ type: "integer" }] }), { v: ["x"] }, false],
    ["what it must not be", Type.Unsafe({ type: "string", not: { const: "x" } }), { v: "x" }, false],
    ["a const that is an object", Type.Unsafe({ const: { a: 1 } }), { v: { a: 2 } }, false],
    ["one inside a list", Type.Array(Type.Unsafe({ enum: ["x"] })), { v: ["y"] }, false],
  ])("reads an unsafe schema by its keywords: %s", (_title, part, args, ok) => {
    const schema = Type.Object({ v: part as ReturnType<typeof Type.Any> });
    expect(tool(schema).validate("t", args).ok).toBe(ok);
  });

  it("names the places inside an unsafe schema", () => {
    const inner = Type.Unsafe({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] });
    const validation = tool(Type.Object({ list: Type.Array(inner) })).validate("t", { list: [{ n: 1 }, { n: "x" }] });
    expect(validation).toEqual({ ok: false, issues: [{ path: "/list/1/n", expected: "integer" }] });
  });

  it("takes decimal fractions for the multiples they are", () => {
    const price = tool(Type.Object({ price: Type.Number({ multipleOf: 0.01, minimum: 0 }) }));
    expect(price.validate("t", { price: 19.99 }).ok).toBe(true);
    expect(price.validate("t", { price: 19.995 })).toMatchObject({
      ok: false,
      issues: [{ path: "/price", expected: "a multiple of 0.01" }],
    });
    expect(price.validate("t", { price: -0.01 }).ok).toBe(false);
  });

  it("checks own properties alone, whatever every object inherits", () => {
    const names = ["toString", "constructor", "__proto__", "hasOwnProperty"];
    const optional = Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())])), {
      additionalProperties: false,
    });
    expect(issues(optional, {})).toEqual([]);
    for (const name of names) {
      const given = (value: string) => JSON.parse(`{${JSON.stringify(name)}:${value}}`) as JsonObject;
      expect(issues(optional, given('"x"'))).toEqual([]);
      expect(issues(optional, given("1"))).toEqual([`/${name} string`]);
      const required = Type.Object(Object.fromEntries([[name, Type.Any()]]));
      expect(issues(required, {})).toEqual([`/${name} required: a value`]);
    }
  });

  it.each([
    ["a text", Type.String({ pattern: "^(a+)+$" })],
    ["names", Type.Record(Type.String({ pattern: "^(a+)+$" }), Type.Any(), { additionalProperties: false })],
    ["a template", Type.TemplateLiteral([Type.Union([Type.Literal("a"), Type.Literal("aa")]), Type.Number()])],
    ["raw keywords", Type.Unsafe({ type: "string", pattern: "^(a|aa)+$" })],
  ])("matches the pattern of %s in time that grows with the text", (_what, part) => {
    const text = `${"a".repeat(20_000)}!`;
    const value = part["type"] === "object" ? { [text]: 1 } : text;
    expect(tool(Type.Object({ v: part })).validate("t", { v: value }).ok).toBe(false);
  });

  it("reads patterns as RegExp does where that is asked for", () => {
    const parameters = Type.Object({ code: Type.String({ pattern: "^(?=.*\\d).{3,}$" }) });
    const definition = { name: "t", description: "", parameters, execute: () => "ok" };
    expect(() => defineTool(definition)).toThrow(
      'at /properties/code/pattern has ^(?=.*\\d).{3,}$, which needs the option patterns: "native"',
    );
    const native = defineTool(definition, { patterns: "native" });
    expect(native.validate("t", { code: "abc1" }).ok).toBe(true);
    expect(native.validate("t", { code: "abcd" }).ok).toBe(false);
    for (const options of [{ patterns: "nativ" }, { pattern: "native" }, null])
      expect(() => defineTool(definition, options as never)).toThrow("CompositionError(invalid-config): defineTool");
  });

  it("follows references by place, by anchor, and by the address of the schema", () => {
    const $id = "https://example.org/args";
    const by = (part: object) =>
      Type.Object({ v: Type.Unsafe(part) }, { $id, $defs: { n: Type.Integer({ $anchor: "n", $dynamicAnchor: "d" }) } });
    for (const reference of ["#/$defs/n", "#n", `${$id}#/$defs/n`, `${$id}#n`, "args#/$defs/n"]) {
      expect(issues(by({ $ref: reference }), { v: 1 })).toEqual([]);
      expect(issues(by({ $ref: reference }), { v: "x" })).toEqual(["/v integer"]);
    }
    expect(issues(by({ $dynamicRef: "#d" }), { v: "x" })).toEqual(["/v integer"]);
    const module = Type.Module({ A: Type.Object({ b: Type.Ref("B") }), B: Type.Integer() });
    expect(issues(Type.Object({ a: module.Import("A") }), { a: { b: "x" } })).toEqual(["/a/b integer"]);
  });

  it("takes time that does not double with each level of a union", () => {
    const node = Type.Recursive((self) =>
      Type.Union(["a", "b", "c"].map((op) => Type.Object({ left: Type.Optional(self), op: Type.Literal(op) }))),
    );
    let deep: JsonObject = { op: "c" };
    for (let level = 0; level < 60; level++) deep = { left: deep, op: "c" };
    expect(issues(Type.Object({ node }), { node: deep })).toEqual([]);
    let wrong: JsonObject = { op: "d" };
    for (let level = 0; level < 60; level++) wrong = { left: wrong, op: "c" };
    expect(issues(Type.Object({ node }), { node: wrong }).length).toBeGreaterThan(0);
  });

  it("refuses a schema that holds itself", () => {
    const schema = Type.Object({});
    Object.assign(schema.properties, { self: schema });
    expect(() => tool(schema)).toThrow("CompositionError(invalid-schema)");
  });

  it("checks no format that nobody registered, and still tells the model of it", () => {
    const defined = tool(Type.Object({ when: Type.String({ format: "date-time" }) }));
    expect(defined.validate("t", { when: "soon" }).ok).toBe(true);
    expect(defined.def.inputSchema["properties"]).toEqual({ when: { type: "string", format: "date-time" } });
  });

  it("checks formats and kinds that were registered before", () => {
    FormatRegistry.Set("test-even", (text) => text.length % 2 === 0);
    TypeRegistry.Set("TestPrime", (_schema, value) => value === 2 || value === 3);
    const prime: TSchema = Object.assign(Type.Any(), { [Kind]: "TestPrime" });
    const defined = tool(Type.Object({ word: Type.String({ format: "test-even" }), prime }));
    expect(defined.validate("t", { word: "even", prime: 3 }).ok).toBe(true);
    const refused = defined.validate("t", { word: "odd", prime: 4 });
    expect(refused.ok ? [] : refused.issues.map(({ path }) => path)).toEqual(["/word", "/prime"]);
  });

  it.each<[string, unknown, string]>([
    ["a schema that is no object", Type.String(), 'has no type "object"'],
    ["raw JSON Schema", { type: "object", properties: {} }, "not made with Type"],
    ["a copy of its own schema", JSON.parse(JSON.stringify(weather)), "not made with Type"],
    ["raw parts inside", Type.Object({ a: { type: "string" } as never }), "/properties/a"],
    ["nothing", undefined, "not made with Type"],
    ["a regular expression", Type.Object({ a: Type.RegExp(/x/) }), "/properties/a is a Type.RegExp"],
    [
      "a kind that nobody registered",
      Type.Object({ a: Object.assign(Type.Any(), { [Kind]: "TestUnknown" }) }),
      "at /properties/a is of the kind TestUnknown",
    ],
    [
      "a reference to nothing",
      Type.Object({ a: Type.Ref("Nowhere") }),
      "at /properties/a/$ref refers to Nowhere, which is not in the document",
    ],
    [
      "a dynamic reference to nothing",
      Type.Object({ a: Type.Unsafe({ $dynamicRef: "#nowhere" }) }),
      "at /properties/a/$dynamicRef refers to #nowhere, which does not lead anywhere",
    ],
    [
      "a union of itself alone",
      Type.Object({ a: Type.Recursive((self) => Type.Union([self, Type.Null()])) }),
      "without end",
    ],
    ["dates", Type.Object({ d: Type.Array(Type.Date()) }), "/properties/d/items"],
    [
      "functions",
      Type.Object({ f: Type.Union([Type.Null(), Type.Function([], Type.Null())]) }),
      "/properties/f/anyOf/1",
    ],
    [
      "a broken pattern in raw keywords",
      Type.Object({ u: Type.Unsafe({ items: { pattern: "(" } }) }),
      "/properties/u/items",
    ],
    ["a broken pattern", Type.Object({ p: Type.String({ pattern: "(" }) }), "/properties/p"],
    ["defaults that are no JSON", Type.Object({ n: Type.Number({ default: 5n as never }) }), "not JSON"],
  ])("refuses %s", (_title, parameters, text) => {
    const define = (): DefinedTool => tool(parameters as typeof weather);
    expect(define).toThrow(CompositionError);
    expect(define).toThrow(/^CompositionError\(invalid-schema\)/);
    expect(define).toThrow(text);
  });

  it("has only the optional members that the definition gives", () => {
    expect(Object.keys(tool(weather)).sort()).toEqual(["def", "execute", "listTools", "trustAnnotations", "validate"]);
    const whole = defineTool({
      name: "t",
      description: "",
      parameters: weather,
      prepareArguments: (raw) => ({ ...raw, city: "Bern" }),
      conflictKeys: ({ city }) => [city],
      afterExecute: () => okResult("after"),
      execute: () => "ok",
    });
    expect(whole.prepareArguments?.("t", { days: 1 })).toEqual({ days: 1, city: "Bern" });
    expect(whole.conflictKeys?.({ id: "1", name: "t", arguments: { city: "Bonn" } })).toEqual(["Bonn"]);
    expect(Object.keys(whole.hooks?.("t") ?? {})).toEqual(["afterExecute"]);
  });

  it("does not begin a call that was aborted before", async () => {
    let begun = 0;
    const counting = defineTool({
      name: "t",
      description: "",
      parameters: Type.Object({}),
      execute: () => {
        begun += 1;
      },
    });
    const context = testToolContext({ signal: AbortSignal.abort() });
    await expect(counting.execute({ id: "1", name: "t", arguments: {} }, context)).rejects.toMatchObject({
      kind: "aborted",
    });
    expect(begun).toBe(0);
  });

  it("rejects with what the tool throws, before or after it returned a promise", async () => {
    const thrown = { code: 7 };
    const throwing = defineTool({
      name: "t",
      description: "",
      parameters: Type.Object({}),
      execute: () => {
        throw thrown;
      },
    });
    await expect(throwing.execute({ id: "1", name: "t", arguments: {} }, testToolContext())).rejects.toBe(thrown);
    await expect(throwing.execute({ id: "1", name: "u", arguments: {} }, testToolContext())).rejects.toThrow(ToolError);
  });
});
