import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import { z } from "zod";
import { standardSchemaTool, type StandardSchema } from "../../../src/adapters/tools/standard-schema.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import {
  runClaims,
  stopResponse,
  testAgent,
  testToolContext,
  toolCallResponse,
  toolCallsResponse,
  toolProviderClaims,
} from "../../../src/testkit/index.js";

const base = { name: "weather", description: "Tells the weather." };

const made = {
  zod: () =>
    standardSchemaTool({
      ...base,
      input: z.object({ city: z.string().min(1), mail: z.email().optional(), days: z.int().min(1).default(3) }),
      execute: ({ city, days }) => {
        expectTypeOf(days).toEqualTypeOf<number>();
        return { city, days };
      },
    }),
  valibot: () =>
    standardSchemaTool({
      ...base,
      input: v.object({
        city: v.pipe(v.string(), v.minLength(1)),
        mail: v.optional(v.pipe(v.string(), v.email())),
        days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 3),
      }),
      toJsonSchema: (schema) => toJsonSchema(schema, { typeMode: "input" }),
      execute: ({ city, days }) => {
        expectTypeOf(days).toEqualTypeOf<number>();
        return { city, days };
      },
    }),
  arktype: () =>
    standardSchemaTool({
      ...base,
      input: type({ city: "string >= 1", "mail?": "string.email", days: "number.integer >= 1 = 3" }),
      execute: ({ city, days }) => {
        expectTypeOf(days).toEqualTypeOf<number>();
        return { city, days };
      },
    }),
};

describe.each(Object.entries(made))("a tool of %s", (_library, make) => {
  runClaims({
    test,
    claims: toolProviderClaims,
    capabilities: { changes: { missing: "one tool never changes" }, abort: { missing: "that is up to each tool" } },
    make: () => ({
      provider: make(),
      call: { name: "weather", arguments: { city: "Bern" } },
      invalid: { arguments: { city: "Bern", mail: "hunter-2222", days: "secret-days" }, path: "/mail" },
    }),
  });

  it("shows the model a JSON Schema of what the tool takes", () => {
    const { inputSchema } = make().def;
    expect(inputSchema).toMatchObject({
      type: "object",
      properties: { city: { type: "string", minLength: 1 }, days: { type: "integer" } },
      required: ["city"],
    });
    expect(inputSchema).not.toHaveProperty("$schema");
  });

  it("runs in an agent with defaults, and refuses with the place", async () => {
    await using agents = await testAgent({
      providers: [make()],
      script: [
        toolCallsResponse(
          { id: "c1", name: "weather", arguments: { city: "Bern" } },
          { id: "c2", name: "weather", arguments: { city: "Bern", days: 0 } },
        ),
        stopResponse("done"),
      ],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(toolResults[0]).toMatchObject({ isError: false, structured: { city: "Bern", days: 3 } });
    expect(toolResults[1]).toMatchObject({ isError: true, outcome: "not-started" });
    expect(JSON.stringify(toolResults[1]?.content)).toContain("/days: ");
  });
});

describe("standardSchemaTool", () => {
  it("infers what the functions get and give, before and after transforms", () => {
    standardSchemaTool({
      ...base,
      input: z.object({ at: z.string().transform((text) => new Date(text)) }),
      output: z.object({ count: z.string().transform(Number).pipe(z.number()) }),
      conflictKeys: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ at: string }>();
        return [args.at];
      },
      beforeExecute: ({ args }) => {
        expectTypeOf(args.at).toEqualTypeOf<string>();
      },
      execute: ({ at }) => {
        expectTypeOf(at).toEqualTypeOf<Date>();
        return { count: "3" };
      },
    });
    standardSchemaTool({
      ...base,
      input: type({ n: "number" }),
      output: v.object({ n: v.number() }),
      toJsonSchema: () => ({ type: "object" }),
      // @ts-expect-error: the output is a number
      execute: ({ n }) => ({ n: String(n) }),
    });
  });

  it("gives what the schema makes of the arguments to execute, and keeps what is stored as it came", async () => {
    const received: unknown[] = [];
    const tool = standardSchemaTool({
      ...base,
      input: z.object({ at: z.string().transform((text) => new Date(text)), n: z.coerce.number() }),
      output: z.object({ count: z.string().transform(Number).pipe(z.number()) }),
      beforeExecute: ({ args }) => void received.push(args),
      execute: (args) => {
        received.push(args);
        return { count: "3" };
      },
    });
    const args = { at: "2026-01-02T03:04:05.000Z", n: "7" };
    await using agents = await testAgent({
      providers: [tool],
      script: [toolCallResponse("weather", "c1", args), stopResponse("done")],
    });
    const { toolResults, exchanges } = await agents.agent.runTurn("go");
    expect(received).toEqual([args, { at: new Date("2026-01-02T03:04:05.000Z"), n: 7 }]);
    expect(exchanges[0]?.executedInput).toEqual(args);
    expect(toolResults[0]).toMatchObject({ isError: false, structured: { count: 3 } });
  });

  it("waits for a schema that is asynchronous, right before it runs the tool", async () => {
    const known = async (name: string): Promise<boolean> => {
      await Promise.resolve();
      return name !== "nobody";
    };
    const tool = standardSchemaTool({
      ...base,
      input: z.object({ who: z.string().refine(known, { error: "somebody we know" }) }),
      execute: ({ who }) => `hello ${who}`,
    });
    const calls = ["ada", "nobody", "eve"].map((who, i) => ({ id: `c${i}`, name: "weather", arguments: { who } }));
    await using agents = await testAgent({
      providers: [tool],
      script: [toolCallsResponse(...calls), stopResponse("done")],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(toolResults.map(({ content }) => content[0])).toEqual([
      { type: "text", text: "hello ada" },
      {
        type: "text",
        text: "ToolError(invalid-arguments): the arguments for weather are invalid: /who: somebody we know",
      },
      { type: "text", text: "hello eve" },
    ]);
  });

  it("asks an asynchronous schema once a call, when it is known to be one", async () => {
    let asked = 0;
    const slow: StandardSchema<JsonObject> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: async (value) => {
          asked += 1;
          return await Promise.resolve({ value: value as JsonObject });
        },
      },
    };
    const tool = standardSchemaTool({
      ...base,
      input: slow,
      toJsonSchema: () => ({ type: "object" }),
      execute: () => "",
    });
    const calls = ["c1", "c2", "c3"].map((id) => ({ id, name: "weather", arguments: {} }));
    await using agents = await testAgent({
      providers: [tool],
      script: [toolCallsResponse(...calls), stopResponse("done")],
    });
    await agents.agent.runTurn("go");
    // Once more where the first call found out.
    expect(asked).toBe(4);
  });

  it("raises no unhandled rejection when an asynchronous schema rejects", async () => {
    const rejecting: StandardSchema<{ a: string }> = {
      "~standard": { version: 1, vendor: "test", validate: () => Promise.reject(new Error("database down")) },
    };
    const tool = standardSchemaTool({
      ...base,
      input: rejecting,
      toJsonSchema: () => ({ type: "object" }),
      execute: () => "never",
    });
    expect(tool.validate("weather", { a: "x" }).ok).toBe(true);
    const call = { id: "1", name: "weather", arguments: { a: "x" } };
    await expect(tool.execute(call, testToolContext())).rejects.toThrow("database down");
  });

  it.each([
    ["the standard", { "~standard": { jsonSchema: { input: () => ({ type: "object", title: "made" }) } } }],
    ["a method of arktype's name", { toJsonSchema: () => ({ type: "object", title: "made" }) }],
    [
      "a method of zod's name",
      { toJSONSchema: ({ io }: { io: string }) => ({ type: "object", title: io === "input" ? "made" : "?" }) },
    ],
  ])("finds the JSON Schema by %s", (_how, parts: object) => {
    const standard = { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) };
    const own: object = "~standard" in parts ? (parts["~standard"] as object) : {};
    const input = { ...parts, "~standard": { ...standard, ...own } } as unknown as StandardSchema<JsonObject>;
    expect(standardSchemaTool({ ...base, input, execute: () => "" }).def.inputSchema).toEqual({
      type: "object",
      title: "made",
    });
  });

  it.each([
    ["no schema", undefined, {}],
    ["another version", { "~standard": { version: 2, vendor: "x", validate: () => ({ value: 1 }) } }, {}],
    ["a schema of no object", z.string(), {}],
    ["a schema without JSON Schema", v.object({}), {}],
    ["one that JSON Schema cannot say", z.object({ a: z.bigint() }), {}],
    ["a JSON Schema that is none", v.object({}), { toJsonSchema: () => "x" }],
    ["a JSON Schema that holds no JSON", v.object({}), { toJsonSchema: () => ({ type: "object", x: 1n }) }],
    ["a converter that throws", v.object({}), { toJsonSchema: () => JSON.parse("{") as object }],
  ])("refuses %s where the tool is made", (_what, input, rest) => {
    const failed = (): unknown =>
      standardSchemaTool({
        ...base,
        input: input as unknown as StandardSchema,
        execute: () => "",
        ...(rest as object),
      });
    expect(failed).toThrow(CompositionError);
    expect(failed).toThrow("CompositionError(invalid-schema)");
  });

  it.each<[string, StandardSchema<JsonObject, { readonly at: Date }>]>([
    ["zod", z.object({ at: z.iso.date().transform((text) => new Date(text)) }) as never],
    ["arktype, which does so in place", type({ at: "string.date.iso.parse" }) as never],
  ])("transforms what execute gets and nothing else: %s", async (_library, input) => {
    const toJsonSchema = () => ({ type: "object", properties: { at: { type: "string" } } });
    const execute = ({ at }: { readonly at: Date }) => `in ${at.getUTCFullYear()}`;
    const tool = standardSchemaTool({ ...base, input, toJsonSchema, execute });
    const args = Object.freeze({ at: "2026-01-02" });
    expect(tool.validate("weather", args)).toEqual({ ok: true, value: { at: "2026-01-02" } });
    const script = [toolCallResponse("weather", "1", args), stopResponse("done")];
    await using t = await testAgent({ script, providers: [tool] });
    const { exchanges } = await t.agent.runTurn("when?");
    expect(exchanges[0]).toMatchObject({
      executedInput: args,
      result: { isError: false, content: [{ text: "in 2026" }] },
    });
  });

  const answering = (answer: unknown) => {
    const input = { "~standard": { version: 1, vendor: "test", validate: () => answer } } as StandardSchema<JsonObject>;
    return standardSchemaTool({ ...base, input, toJsonSchema: () => ({ type: "object" }), execute: () => "ran" });
  };

  it.each([undefined, null, "bad", 5, [], {}, { issues: "bad" }, { issues: {} }])(
    "takes no %j of a library for a yes, at once or later",
    async (answer) => {
      const told = "the schema of weather answered with what is no result";
      expect(() => answering(answer).validate("weather", {})).toThrow(new TypeError(told));
      const later = answering(Promise.resolve(answer));
      expect(later.validate("weather", {}).ok).toBe(true);
      const call = { id: "1", name: "weather", arguments: {} };
      await expect(later.execute(call, testToolContext())).rejects.toThrow(told);
    },
  );

  it("reads issues that are none as far as it can, whatever the arguments hold", () => {
    const issues = [null, "x", { message: "first", path: [{ key: "a" }] }, {}];
    const args = { list: Array.from({ length: 300_000 }, (_, n) => n) };
    expect(answering({ issues }).validate("weather", args)).toEqual({
      ok: false,
      issues: [
        { path: "/a", expected: "first" },
        { path: "", expected: "undefined" },
      ],
    });
  });

  it("quotes no value that a library's message quotes", () => {
    const loud: StandardSchema<JsonObject> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => {
          const { secret, pin } = value as { secret: string; pin: number };
          const message = `bad "${secret}" and ${JSON.stringify(secret)} and '${pin}', or ${secret} itself`;
          return { issues: [{ message, path: ["a/b", { key: 0 }] }] };
        },
      },
    };
    const tool = standardSchemaTool({
      ...base,
      input: loud,
      toJsonSchema: () => ({ type: "object" }),
      execute: () => "",
    });
    expect(tool.validate("weather", { secret: 'hunter"2', pin: 1234 })).toEqual({
      ok: false,
      issues: [{ path: "/a~1b/0", expected: "bad … and … and …, or … itself" }],
    });
  });
});
