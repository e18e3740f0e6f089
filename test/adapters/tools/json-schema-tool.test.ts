import { describe, expect, expectTypeOf, it, test } from "vitest";
import {
  jsonSchemaTool,
  type JsonSchemaArguments,
  type JsonSchemaValue,
} from "../../../src/adapters/tools/json-schema.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { Json, JsonObject } from "../../../src/domain/json.js";
import {
  runClaims,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolProviderClaims,
} from "../../../src/testkit/index.js";

const weather = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 1 },
    days: { type: "integer", minimum: 1, maximum: 7 },
    unit: { enum: ["celsius", "fahrenheit"], default: "celsius" },
  },
  required: ["city"],
  additionalProperties: false,
} as const;

const base = { name: "t", description: "A tool." };

const tool = (inputSchema: unknown, options?: Parameters<typeof jsonSchemaTool>[1]) =>
  jsonSchemaTool({ ...base, inputSchema: inputSchema as JsonObject, execute: (args) => args }, options);

const object = (properties: unknown, rest: object = {}): unknown => ({ type: "object", properties, ...rest });

const issues = (inputSchema: unknown, args: JsonObject, options?: Parameters<typeof jsonSchemaTool>[1]) => {
  const validation = tool(inputSchema, options).validate("t", args);
  return validation.ok ? [] : validation.issues.map(({ path, expected }) => `${path} ${expected}`);
};

const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject;

describe("jsonSchemaTool", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    capabilities: { changes: { missing: "one tool never changes" }, abort: { missing: "that is up to each tool" } },
    make: () => ({
      provider: jsonSchemaTool({
        ...base,
        name: "weather",
        inputSchema: weather,
        execute: ({ city }) => ({ city, sky: "clear" }),
      }),
      call: { name: "weather", arguments: { city: "Bern" } },
      invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
    }),
  });

  it("infers arguments, results and hooks from the schemas", () => {
    jsonSchemaTool({
      ...base,
      inputSchema: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: ["integer", "null"] } },
        required: ["city"],
      },
      outputSchema: { type: "object", properties: { sky: { enum: ["clear", "grey"] } }, required: ["sky"] },
      conflictKeys: (args) => [args.city],
      beforeExecute: ({ args }) => {
        expectTypeOf(args).toEqualTypeOf<{ readonly city: string; readonly days?: number | null }>();
        return { args: { city: "Bern" } };
      },
      execute: ({ city, days }) => {
        expectTypeOf(city).toEqualTypeOf<string>();
        expectTypeOf(days).toEqualTypeOf<number | null | undefined>();
        return { sky: "clear" };
      },
    });
    jsonSchemaTool({
      ...base,
      inputSchema: { type: "object" },
      outputSchema: { type: "object", properties: { sky: { type: "string" } }, required: ["sky"] },
      // @ts-expect-error: the output schema says text
      execute: () => ({ sky: 5 }),
    });
    expectTypeOf<JsonSchemaArguments<typeof weather>>().toEqualTypeOf<{
      readonly city: string;
      readonly days?: number;
      readonly unit: "celsius" | "fahrenheit";
    }>();
    expectTypeOf<JsonSchemaArguments<JsonObject>>().toEqualTypeOf<JsonObject>();
  });

  it("infers what each keyword says", () => {
    type Value<S> = JsonSchemaValue<S>;
    expectTypeOf<Value<{ const: 5 }>>().toEqualTypeOf<5>();
    expectTypeOf<Value<{ type: "array"; items: { type: "string" } }>>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Value<{ anyOf: readonly [{ type: "string" }, { type: "null" }] }>>().toEqualTypeOf<string | null>();
    expectTypeOf<Value<{ oneOf: readonly [{ const: "a" }, { type: "number" }] }>>().toEqualTypeOf<"a" | number>();
    expectTypeOf<Value<true>>().toEqualTypeOf<Json>();
    expectTypeOf<Value<{ type: "object"; additionalProperties: { type: "number" } }>>().toEqualTypeOf<{
      readonly [key: string]: number;
    }>();
    expectTypeOf<
      Value<{
        type: "object";
        properties: { a: { $ref: "#/$defs/id" } };
        required: readonly ["a"];
        $defs: { id: { type: "integer" } };
      }>
    >().toEqualTypeOf<{ readonly a: number }>();
    type Tree = Value<{ type: "object"; properties: { child: { $ref: "#" } } }>;
    expectTypeOf<NonNullable<NonNullable<Tree["child"]>["child"]>>().toExtend<object>();
  });

  it("checks arguments and names each fault by its place", () => {
    expect(issues(weather, { city: "", days: 9, unit: "kelvin", extra: 1 })).toEqual([
      "/extra nothing: there is no such property",
      "/city to NOT have fewer than 1 characters",
      "/days <= 7",
      '/unit "celsius" or "fahrenheit"',
    ]);
    expect(issues(weather, {})).toEqual(["/city required"]);
    const union = object({ x: { anyOf: [{ type: "string" }, { type: "integer" }] } });
    expect(issues(union, { x: [] })).toEqual(["/x string or integer"]);
    const one = object({ x: { oneOf: [{ type: "integer" }, { minimum: 3 }] } });
    expect(issues(one, { x: 5 })).toEqual(["/x only one of the allowed forms"]);
    expect(issues(object({ "a/b~c": { type: "string" } }), { "a/b~c": 1 })).toEqual(["/a~1b~0c string"]);
  });

  it("follows references inside the document, recursive ones too", () => {
    const tree = object(
      { tree: { $ref: "#/$defs/node" }, named: { $ref: "#other" } },
      {
        $defs: {
          node: object({ value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/node" } } }),
          other: { $anchor: "other", type: "string" },
        },
      },
    );
    expect(issues(tree, { tree: { value: 1, children: [{ value: 2, children: [{ value: "x" }] }] } })).toEqual([
      "/tree/children/0/children/0/value integer",
    ]);
    expect(issues(tree, { named: 1 })).toEqual(["/named string"]);
  });

  it("follows references by the address of the document, and dynamic ones", () => {
    const $id = "https://example.org/args";
    const by = (part: unknown) => ({
      ...(object({ v: part }) as JsonObject),
      $id,
      $defs: { n: { type: "integer", $anchor: "n", $dynamicAnchor: "d" }, o: { $id: "other", type: "integer" } },
    });
    for (const reference of [
      "#/$defs/n",
      `${$id}#/$defs/n`,
      `${$id}#n`,
      "args#n",
      "other",
      "https://example.org/other",
    ])
      expect(issues(by({ $ref: reference }), { v: "x" })).toEqual(["/v integer"]);
    expect(issues(by({ $dynamicRef: "#d" }), { v: "x" })).toEqual(["/v integer"]);
    expect(() => tool(by({ $ref: `${$id}#/$defs/none` }))).toThrow("at /properties/v/$ref refers to");
  });

  it("follows references to the whole document", () => {
    const tree = object({ name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } });
    expect(issues(tree, { children: [{ children: [{ name: 3 }] }] })).toEqual(["/children/0/children/0/name string"]);
    expect(issues(object({ next: { $ref: "#" } }), { next: { next: {} } })).toEqual([]);
  });

  it("takes decimal fractions for the multiples they are", () => {
    const price = object({ price: { type: "number", multipleOf: 0.01 } });
    for (const value of [19.99, 0.07, 1.1, 123_456.78]) expect(issues(price, { price: value })).toEqual([]);
    expect(issues(price, { price: 19.995 })).toEqual(["/price multiple of 0.01"]);
  });

  it("does not take what every object inherits for a property", () => {
    const schema = object({ toString: { type: "string" } }, { required: ["constructor"], additionalProperties: false });
    expect(issues(schema, {})).toEqual(["/constructor required"]);
    expect(issues(weather, parsed('{"city":"x","__proto__":{"a":1}}'))).toEqual([
      "/__proto__ nothing: there is no such property",
    ]);
  });

  it("compares with constants and among items whatever methods a value seems to bring", () => {
    for (const text of ['{"toString":[]}', '{"valueOf":1}', '[{"constructor":1}]']) {
      const value = parsed(text);
      for (const keyword of [{ const: {} }, { enum: [{}, { a: 1 }] }]) {
        expect(issues(object({ x: keyword }), { x: value })).toHaveLength(1);
      }
      expect(issues(object({ x: { const: value } }), { x: value })).toEqual([]);
      expect(issues(object({ x: { uniqueItems: true } }), { x: [value, {}, value] })).toHaveLength(1);
    }
  });

  it("matches patterns in time that grows with the text alone", () => {
    const evil = object({ x: { type: "string", pattern: "^(a+)+$" } });
    expect(issues(evil, { x: `${"a".repeat(20_000)}!` })).toEqual(['/x to match pattern "^(a+)+$"']);
    const two = object({ x: { pattern: "^a$" }, y: { pattern: "^b$" } });
    expect(issues(two, { x: "a", y: "a" })).toEqual(['/y to match pattern "^b$"']);
  });

  it("refuses text that is too long to try its pattern on, rather than to hang", () => {
    const schema = object({ x: { type: "string", pattern: "(a|b|ab|aba|bab){1,200}c" } });
    expect(issues(schema, { x: "ab".repeat(500_000) })).toEqual([" text that its pattern can be tried on in time"]);
  });

  it.each<[string, unknown, (size: number) => JsonObject]>([
    [
      "items that must differ",
      object({ l: { type: "array", uniqueItems: true } }),
      (size) => ({ l: Array.from({ length: size }, (_, n) => ({ n })) }),
    ],
    [
      "an enumeration of objects",
      object({ l: { items: { enum: Array.from({ length: 300 }, (_, n) => ({ n })) } } }),
      (size) => ({ l: Array.from({ length: size }, () => ({ n: 299 })) }),
    ],
    ["faults by the thousand", object({ l: { items: { type: "string" } } }), (size) => ({ l: Array(size).fill(1) })],
    [
      "unions that ask themselves",
      object(
        { tree: { $ref: "#/$defs/node" } },
        {
          $defs: {
            node: {
              oneOf: ["a", "b"].map((op) => ({ properties: { left: { $ref: "#/$defs/node" }, op: { const: op } } })),
            },
          },
        },
      ),
      (size) => ({
        tree: Array(Math.min(size, 60))
          .fill(0)
          .reduce<JsonObject>((left) => ({ left, op: "b" }), { op: "c" }),
      }),
    ],
    [
      "unions that ask themselves where only a reference leads",
      object(
        { tree: { $ref: "#/x-defs/node" } },
        {
          "x-defs": {
            node: {
              oneOf: ["a", "b"].map((op) => ({ properties: { left: { $ref: "#/x-defs/node" }, op: { const: op } } })),
            },
          },
        },
      ),
      (size) => ({
        tree: Array(Math.min(size, 60))
          .fill(0)
          .reduce<JsonObject>((left) => ({ left, op: "b" }), { op: "c" }),
      }),
    ],
    [
      "patterns of names",
      object({}, { patternProperties: { "^(a|aa)+$": { type: "string" }, "(a?){50}b": { type: "string" } } }),
      (size) => Object.fromEntries(Array.from({ length: size }, (_, n) => [`${"a".repeat(40)}${n}`, 1])),
    ],
  ])("is bounded in its work, whatever the arguments: %s", (_what, schema, args) => {
    const checked = tool(schema);
    expect(checked.validate("t", args(2)).ok).toBe(checked.validate("t", args(3)).ok);
    const large = checked.validate("t", args(30_000));
    expect(large.ok || large.issues.length > 0).toBe(true);
  });

  it("compares items and enumerated values as JSON, not as text", () => {
    const unique = object({ l: { type: "array", uniqueItems: true } });
    expect(
      issues(unique, {
        l: [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      }),
    ).toEqual(["/l to NOT have duplicate items"]);
    expect(issues(unique, { l: [1, "1", [1], { 0: 1 }, null, "null"] })).toEqual([]);
    const listed = object({ v: { enum: [{ a: 1, b: [2] }, "x", null] } });
    expect(issues(listed, { v: { b: [2], a: 1 } })).toEqual([]);
    expect(issues(listed, { v: { b: [3], a: 1 } })).toEqual(['/v {"a":1,"b":[2]} or "x" or null']);
  });

  it("reads patterns as RegExp does where that is asked for", () => {
    const schema = object({ x: { type: "string", pattern: "^(?=.*\\d).{3,}$" } });
    expect(() => tool(schema)).toThrow(
      'at /properties/x/pattern has ^(?=.*\\d).{3,}$, which needs the option patterns: "native"',
    );
    expect(issues(schema, { x: "abc1" }, { patterns: "native" })).toEqual([]);
    expect(issues(schema, { x: "abcd" }, { patterns: "native" })).toHaveLength(1);
  });

  it("checks the formats it was given, and leaves the others to the model", () => {
    const schema = object({ day: { type: "string", format: "day" }, when: { type: "string", format: "date-time" } });
    const formats = { day: (text: string) => ["mon", "tue"].includes(text) };
    expect(issues(schema, { day: "xxx", when: "xxx" }, { formats })).toEqual(["/day the format day"]);
    expect(issues(schema, { day: "xxx" })).toEqual([]);
  });

  it.each([/^mon$/g, /mon/y, /^mon$/gi])("gives one answer to one text, also by the format %s", (day) => {
    const checked = tool(object({ day: { type: "string", format: "day" } }), { formats: { day } });
    for (let n = 0; n < 4; n++) {
      expect(checked.validate("t", { day: "mon" }).ok).toBe(true);
      expect(checked.validate("t", { day: "x" }).ok).toBe(false);
    }
  });

  it.each([() => undefined, () => "yes", async () => false, () => Promise.reject(new Error("no"))])(
    "takes only yes or no from a format: %o",
    (answer) => {
      const schema = object({ day: { type: "string", format: "day" } });
      const formats = { day: answer as never };
      expect(() => issues(schema, { day: "mon" }, { formats })).toThrow(
        new TypeError("the format day answered neither true nor false"),
      );
    },
  );

  it("keeps two tools with the same $id apart", () => {
    const one = tool({ $id: "https://example.org/args", type: "object", properties: { a: { type: "string" } } });
    const two = tool({ $id: "https://example.org/args", type: "object", properties: { a: { type: "integer" } } });
    expect([one.validate("t", { a: "x" }).ok, two.validate("t", { a: "x" }).ok]).toEqual([true, false]);
  });

  it("neither keeps nor changes the schema it was given", () => {
    const schema = { $schema: "https://json-schema.org/draft/2020-12/schema", ...(object({ a: {} }) as JsonObject) };
    const before = structuredClone(schema);
    const { def, validate } = tool(schema);
    expect(schema).toEqual(before);
    expect(Object.isFrozen(schema)).toBe(false);
    expect(def.inputSchema).toEqual({ type: "object", properties: { a: {} } });
    Object.assign(schema, { required: ["b"] });
    expect(validate("t", {}).ok).toBe(true);
  });
});

describe("a schema that cannot be checked as it is written", () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { type: "array", items: deep(levels - 1) });

  it.each([
    ["no schema", undefined, "at its root is no object: undefined"],
    ["a boolean schema", true, "at its root is no object: true"],
    ["a list", [], "at its root is no object: []"],
    ["another root", { type: "array" }, 'at its root has no type "object"'],
    ["several types at its root", { type: ["object", "null"] }, 'at its root has no type "object"'],
    [
      "a reference to another host",
      object({ a: { $ref: "https://evil.example/s.json" } }),
      "at /properties/a/$ref refers to https://evil.example/s.json, which is not in the document, and nothing is fetched",
    ],
    [
      "a reference to a file",
      object({ a: { $ref: "file:///etc/passwd" } }),
      "at /properties/a/$ref refers to file:///etc/passwd",
    ],
    [
      "a reference to the dialect",
      object({ a: { $ref: "https://json-schema.org/draft/2020-12/schema" } }),
      "nothing is fetched",
    ],
    [
      "two anchors of one name",
      object({ a: { $dynamicAnchor: "x" }, b: { $dynamicAnchor: "x" } }),
      "at /properties/b/$dynamicAnchor is x, as another place is called",
    ],
    ["a dynamic reference elsewhere", object({ a: { $dynamicRef: "http://x/#y" } }), "at /properties/a/$dynamicRef"],
    [
      "a reference to nothing",
      object({ a: { $ref: "#/$defs/none" } }),
      "at /properties/a/$ref refers to #/$defs/none, which does not lead anywhere",
    ],
    ["a reference to what is inherited", object({ a: { $ref: "#/constructor" } }), "does not lead anywhere"],
    [
      "a reference to itself",
      object({ a: { $ref: "#/properties/a" } }),
      "at /properties/a asks itself about the same value again",
    ],
    [
      "references in a circle",
      object(
        { a: { $ref: "#/$defs/x" } },
        { $defs: { x: { allOf: [{ $ref: "#/$defs/y" }] }, y: { anyOf: [{ $ref: "#/$defs/x" }] } } },
      ),
      "without end",
    ],
    [
      "a root that refers to itself",
      { type: "object", $ref: "#" },
      "at its root asks itself about the same value again",
    ],
    [
      "draft 7",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object" },
      "at /$schema names http://json-schema.org/draft-07/schema#, and only draft 2020-12 is read",
    ],
    [
      "draft 4 further inside",
      object({ a: { $schema: "http://json-schema.org/draft-04/schema#" } }),
      "at /properties/a/$schema",
    ],
    [
      "a list of items",
      object({ a: { type: "array", items: [{ type: "string" }] } }),
      "at /properties/a/items is a list, as older drafts had it; 2020-12 has prefixItems",
    ],
    [
      "dependencies",
      object({}, { dependencies: { a: ["b"] } }),
      "at /dependencies is of an older draft; 2020-12 has dependentRequired",
    ],
    ["an asynchronous schema", { $async: true, type: "object" }, "at /$async is not of JSON Schema"],
    [
      "a bound of draft 4",
      object({ a: { minimum: 1, exclusiveMinimum: true } }),
      "is no JSON Schema: it must be number",
    ],
    ["a type that is none", object({ a: { type: "strin" } }), "at /properties/a/type is no JSON Schema"],
    [
      "a property __proto__",
      parsed('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      "at /properties/__proto__ is a name that cannot be checked",
    ],
    [
      "a pattern that is none",
      object({ "a/b": { pattern: "(" } }),
      "at /properties/a~1b/pattern has (, which is no regular expression",
    ],
    [
      "a pattern for names that is none",
      object({}, { patternProperties: { "[": {} } }),
      "at /patternProperties has [, which is no regular expression",
    ],
    ["a pattern that is too large", object({ a: { pattern: "(a{1,1000}){1,1000}" } }), "at /properties/a/pattern"],
    [
      "what only a reference leads to",
      object({ a: { $ref: "#/x-defs/b" } }, { "x-defs": { b: { properties: { c: { items: [{}] } } } } }),
      "at /x-defs/b/properties/c/items is a list",
    ],
    [
      "what only a reference behind a reference leads to",
      object(
        { a: { $ref: "#/x-defs/b" } },
        { "x-defs": { b: { not: { $ref: "#/x-more/1" } } }, "x-more": [{}, { pattern: "(" }] },
      ),
      "at /x-more/1/pattern has (, which is no regular expression",
    ],
    [
      "what only a reference by its address leads to",
      object({ a: { $ref: "args#/x-defs/b" } }, { $id: "https://example.org/args", "x-defs": { b: { $async: true } } }),
      "at /x-defs/b/$async is not of JSON Schema",
    ],
    ["too many levels", object({ a: deep(100) }), "is nested too deep"],
    [
      "too many schemas",
      object(Object.fromEntries(Array.from({ length: 11_000 }, (_, i) => [`p${i}`, {}]))),
      "is one schema too many",
    ],
    ["what is no JSON", object({ a: { default: 1n } }), "cannot be used"],
  ])("is refused with its place: %s", (_what, schema, text) => {
    const failed = (): unknown => tool(schema);
    expect(failed).toThrow(CompositionError);
    expect(failed).toThrow("CompositionError(invalid-schema): the inputSchema of t");
    expect(failed).toThrow(text);
  });

  it("is refused in its output too", () => {
    const outputSchema: JsonObject = { $ref: "#/nowhere" };
    const failed = (): unknown =>
      jsonSchemaTool({ ...base, inputSchema: { type: "object" }, outputSchema, execute: () => null });
    expect(failed).toThrow("the outputSchema of t at /$ref refers to #/nowhere");
  });

  it("quotes no more of it than a label", () => {
    const evil = `https://evil.example/\u202e${"x".repeat(500)}\nsecond line`;
    expect(() => tool(object({ a: { $ref: evil } }))).toThrow(/^[^\n\u202e]{1,400}$/);
  });

  it("may hold data that only looks like a schema", () => {
    const data = { $ref: "https://evil.example", items: [1], $schema: "x" };
    expect(() => tool(object({ a: { const: data, default: data, examples: [data], enum: [data] } }))).not.toThrow();
  });

  it.each([
    [{ pattern: "native" }],
    [{ formats: {}, patterns: "linear", ajv: 1 }],
    [{ patterns: "nativ" }],
    [{ formats: [] }],
    [{ formats: { day: "mon" } }],
    [null],
  ])("options %j are refused", (options) => {
    expect(() => tool(weather, options as never)).toThrow("CompositionError(invalid-config)");
  });
});

test("an agent runs such a tool with defaults, and tells the model what was wrong before", async () => {
  const provider = jsonSchemaTool({
    ...base,
    name: "weather",
    inputSchema: weather,
    execute: ({ city, unit }) => `${city} in ${unit}`,
  });
  await using agents = await testAgent({
    providers: [provider],
    script: [
      toolCallResponse("weather", "c1", { days: 0 }),
      toolCallResponse("weather", "c2", { city: "Bern" }),
      stopResponse("done"),
    ],
  });
  const { toolResults } = await agents.agent.runTurn("go");
  expect(toolResults.map(({ isError, content }) => [isError, content])).toEqual([
    [true, [{ type: "text", text: "the arguments for weather are invalid: /city: required; /days: >= 1" }]],
    [false, [{ type: "text", text: "Bern in celsius" }]],
  ]);
});
