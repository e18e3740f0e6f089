import type { JsonObject } from "ennead";
import { describe, expect, test } from "vitest";
import { joinedName } from "../../../../src/adapters/tools/joined-name.js";
import { hostile, named, started, textOf } from "../../../support/hostile-mcp.js";

/** The SDK judges answers in the one protocol, and not in the other. */
const both: [string, boolean][] = [
  ["2025", false],
  ["2026", true],
];
const tool = (name: unknown, rest: object = {}) => ({ name, inputSchema: { type: "object" }, ...rest });

describe("a list of tools", () => {
  test("is read over all its pages", async () => {
    await using s = await started({ servers: { s: hostile({ pages: "one-each", tools: named("a", "b", "c") }) } });
    expect(await s.names()).toEqual(["s__a", "s__b", "s__c"]);
  });

  test.each([
    ["has no end", hostile({ pages: "endless" }), 7],
    ["has endless empty pages", hostile({ pages: "endless-empty" }), 0],
    ["is huge", hostile({ pages: "huge", count: 5_000 }), 50],
  ])("that %s is read up to a limit", async (_title, server, count) => {
    await using s = await started({ servers: { s: server }, maxPages: 7, maxTools: 50 });
    expect(await s.names()).toHaveLength(count);
    expect(s.events.length).toBeLessThanOrEqual(102);
  });

  test("is looked at no further than the limit", async () => {
    const tools = [tool("a"), tool("b"), tool("c", { inputSchema: "none" }), null];
    await using s = await started({ servers: { s: hostile({ tools }) }, maxTools: 2 });
    expect(await s.names()).toEqual(["s__a", "s__b"]);
    expect(
      s.events.flatMap((event) => (event.type === "toolRefused" ? [`${event.tool}: ${event.reason}`] : [])),
    ).toEqual(["c: is beyond the 2 tools that are read", ": is beyond the 2 tools that are read"]);
  });

  test.each(both)("keeps the tools that are sound, and tells of each that is not (%s)", async (_, modern) => {
    const tools = [
      tool("good", { description: "Is good." }),
      tool("good", { description: "Comes second." }),
      tool(12),
      null,
      tool("text-schema", { inputSchema: { type: "string" } }),
      tool("no-schema", { inputSchema: undefined }),
      tool("no-type", { inputSchema: { properties: { a: { type: "string" } } } }),
      tool("null-schema", { inputSchema: { type: "object", properties: null, required: null } }),
      tool("list-schema", { inputSchema: [] }),
      tool("elsewhere", {
        inputSchema: { type: "object", properties: { a: { $ref: "https://evil.example/a.json" } } },
      }),
      tool("odd-output", { outputSchema: "yes" }),
      tool("no\u202ebidi", {}),
    ];
    await using s = await started({ servers: { s: hostile({ tools, modern }) } });
    const [good, noSchema, noType, nullSchema, bidi, ...others] = await s.list();
    expect(others).toEqual([]);
    expect(noSchema).toMatchObject({ name: "s__no-schema", inputSchema: { type: "object" } });
    expect(noType?.inputSchema).toEqual({ type: "object", properties: { a: { type: "string" } } });
    expect(nullSchema?.inputSchema).toEqual({ type: "object" });
    expect(good).toMatchObject({ name: "s__good", description: "Is good.", source: "s" });
    expect(bidi?.name).toMatch(/^s__no_bidi_x[0-9a-f]{32}$/);
    expect(await s.text(bidi?.name ?? "")).toBe("called no\u202ebidi");
    expect(
      s.events.flatMap((event) => (event.type === "toolRefused" ? [`${event.tool}: ${event.reason}`] : [])),
    ).toEqual([
      "good: is listed twice",
      ": has no name",
      ": is no object",
      'text-schema: its input schema has no type "object"',
      "list-schema: its input schema is no object",
      "elsewhere: its input schema refers to another document",
      "odd-output: its output schema is no object",
    ]);
  });

  test("gives each tool a name of its own that leads to it, however alike servers make them", async () => {
    const long = "x".repeat(200);
    const odd = [
      "f",
      "F",
      "a b",
      "a.b",
      "a\nb",
      "a\u202eb",
      "b__f",
      "_f",
      `${long}1`,
      `${long}2`,
      "__proto__",
      "constructor",
    ];
    const first = joinedName("s", "a b").slice("s__".length);
    const servers = {
      s: hostile({ tools: named(...odd, first), says: "s" }),
      s__b: hostile({ tools: named("f"), says: "s__b" }),
      s_: hostile({ tools: named("f"), says: "s_" }),
      "1 s": hostile({ tools: named("f"), says: "1 s" }),
    };
    await using s = await started({ servers });
    const names = await s.names();
    expect(new Set(names).size).toBe(odd.length + 4);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(names.slice(0, 2)).toEqual(["s__f", "s__F"]);
    const said = await Promise.all(names.map((name) => s.text(name)));
    expect(said).toEqual([...[...odd, first].map((tool) => `s ${tool}`), "s__b f", "s_ f", "1 s f"]);
  });

  test("shows labels on one line, and no label of which nothing can be seen", async () => {
    const hidden = "\u202e\n\u{e0041}\u{e0120}\u3164\u00ad";
    const tools = [
      tool("a", { title: `T${hidden}i`, annotations: { title: `A${hidden}n` } }),
      tool("b", { title: hidden, annotations: { title: hidden } }),
      tool(`c${hidden}`),
    ];
    await using s = await started({ servers: { s: hostile({ tools }) } });
    const [a, b, c] = await s.list();
    expect(a).toMatchObject({ label: "Ti", description: "Ti", annotations: { title: "An" } });
    expect(b).toMatchObject({ name: "s__b", description: "b" });
    expect([b?.label, b?.annotations]).toEqual([undefined, undefined]);
    expect(c?.description).toBe("c");
  });

  test("that changes while it is read for the first time is read once more", async () => {
    await using s = await started({
      servers: { s: { ...hostile({ tools: named("f"), listing: "changes" }), required: true } },
    });
    expect(await s.names()).toEqual(["s__f", "s__extra"]);
  });

  test("says of effects what the server says only where it is trusted", async () => {
    const tools = [tool("f", { annotations: { readOnlyHint: true, title: "Ef", other: 1 } })];
    await using s = await started({ servers: { s: hostile({ tools }) } });
    expect(s.mcp.trustAnnotations).toBe(false);
    expect((await s.list())[0]).toMatchObject({ label: "Ef", annotations: { readOnlyHint: true, title: "Ef" } });
    await using trusted = await started({ servers: { s: hostile({ tools }) }, trustAnnotations: true });
    expect(trusted.mcp.trustAnnotations).toBe(true);
  });
});

describe("a definition that is another than it was", () => {
  const tools = [...named("f", "redefine"), tool("g")];

  test("is told, and offered as it is now", async () => {
    await using s = await started({ servers: { s: hostile({ tools }) } });
    const [, , unchanged] = await s.list();
    await s.call("s__redefine", { description: "Now deletes." });
    const after = await s.list();
    expect(after.map(({ description }) => description)).toEqual(["Now deletes.", "Does redefine.", "g"]);
    expect(after[2]).toBe(unchanged);
    expect(s.events.filter(({ type }) => type === "toolDrifted")).toEqual([
      { type: "toolDrifted", server: "s", tool: "f", name: "s__f", change: "changed", refused: false },
    ]);
  });

  test("is refused on request until somebody approves it", async () => {
    await using s = await started({ servers: { s: hostile({ tools }) }, onDrift: "refuse" });
    let changes = 0;
    s.mcp.onToolsChanged(() => (changes += 1));
    await s.call("s__redefine", { inputSchema: { type: "object", properties: { path: { type: "string" } } } });
    expect(await s.names()).toEqual(["s__redefine", "s__g"]);
    expect(await s.text("s__f")).toBe("ToolError(unknown-tool): no server has a tool s__f");
    const before = changes;
    expect([s.mcp.approve("s__f"), s.mcp.approve("s__never")]).toEqual([true, false]);
    expect(changes).toBe(before + 1);
    expect(await s.names()).toEqual(["s__f", "s__redefine", "s__g"]);
    expect(await s.text("s__f")).toBe("called f");
  });

  test("only in the order of its keys is the same", async () => {
    const properties = { a: { type: "string", minLength: 1 }, b: { enum: ["x", "y"] } };
    const turned = { b: { enum: ["x", "y"] }, a: { minLength: 1, type: "string" } };
    const f = tool("f", { description: "Does.", inputSchema: { type: "object", properties } });
    await using s = await started({ servers: { s: hostile({ tools: [f, ...named("redefine")] }) }, onDrift: "refuse" });
    const before = await s.list();
    await s.call("s__redefine", { inputSchema: { properties: turned, type: "object" } });
    expect(await s.list()).toBe(before);
    await s.call("s__redefine", {
      inputSchema: { type: "object", properties: { ...properties, b: { enum: ["y", "x"] } } },
    });
    expect(await s.names()).toEqual(["s__redefine"]);
  });

  test("is found while a call runs, whose answer counts all the same", async () => {
    await using s = await started({
      servers: { s: hostile({ tools: named("wait", "poke", "f", "redefine") }) },
      onDrift: "refuse",
    });
    const waiting = s.text("s__wait");
    await s.call("s__redefine", { description: "Now deletes." });
    expect(await s.names()).toEqual(["s__wait", "s__poke", "s__redefine"]);
    expect(await s.text("s__f")).toBe("ToolError(unknown-tool): no server has a tool s__f");
    await s.call("s__poke");
    expect(await waiting).toBe("waited");
  });

  test("is found across a restart, by the fingerprints that were kept", async () => {
    const first = await started({ servers: { s: hostile({ tools }) } });
    const approved = first.mcp.fingerprints();
    await first.mcp.onShutdown();
    expect(Object.keys(approved)).toEqual(["s__f", "s__g", "s__redefine"]);
    const changed = tools.map((one) =>
      (one as JsonObject)["name"] === "f" ? tool("f", { description: "Other." }) : one,
    );
    await using again = await started({ servers: { s: hostile({ tools: changed }) }, approved, onDrift: "refuse" });
    expect(await again.names()).toEqual(["s__redefine", "s__g"]);
    await using same = await started({ servers: { s: hostile({ tools }) }, approved, onDrift: "refuse" });
    expect(await same.names()).toEqual(["s__f", "s__redefine", "s__g"]);
  });
});

describe("a tool that is not among the approved", () => {
  const addition = { type: "toolDrifted", server: "s", tool: "extra", name: "s__extra", change: "added" };
  const opened = async (onDrift: "report" | "refuse") => {
    const servers = { s: hostile({ tools: named("open") }) };
    const first = await started({ servers });
    await first.mcp.onShutdown();
    const s = await started({ servers, onDrift, approved: first.mcp.fingerprints() });
    await s.call("s__open");
    return s;
  };

  test("is refused on request until somebody approves it", async () => {
    await using s = await opened("refuse");
    expect(await s.names()).toEqual(["s__open"]);
    expect(s.events.filter(({ type }) => type === "toolDrifted")).toEqual([{ ...addition, refused: true }]);
    expect(Object.keys(s.mcp.fingerprints())).toEqual(["s__open"]);
    expect(s.mcp.approve("s__extra")).toBe(true);
    expect(await s.names()).toEqual(["s__open", "s__extra"]);
    expect(Object.keys(s.mcp.fingerprints())).toEqual(["s__extra", "s__open"]);
  });

  test("is told of otherwise, and counts as approved only when somebody does", async () => {
    await using s = await opened("report");
    expect(await s.names()).toEqual(["s__open", "s__extra"]);
    expect(s.events.filter(({ type }) => type === "toolDrifted")).toEqual([{ ...addition, refused: false }]);
    expect(Object.keys(s.mcp.fingerprints())).toEqual(["s__open"]);
  });

  test("is every one where nothing is approved", async () => {
    await using s = await started({ servers: { s: hostile() }, approved: {}, onDrift: "refuse" });
    expect(await s.names()).toEqual([]);
  });
});

describe.each(both)("a result (%s)", (_, modern) => {
  const answer = async (result: unknown, outputSchema?: object) => {
    await using s = await started({ servers: { s: hostile({ modern, tools: [tool("result", { outputSchema })] }) } });
    return await s.call("s__result", { result });
  };

  test.each([
    ["null", null],
    ["a text", "text"],
    ["nothing of a result", { other: 1 }],
    ["content that is no list", { content: "text" }],
    [
      "nested without end",
      { content: [], structuredContent: JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`) as unknown },
    ],
  ])("that is %s fails its call", async (_title, result) => {
    await expect(answer(result)).rejects.toMatchObject({ name: "ToolError" });
  });

  test("keeps every block, and says of what cannot be read what it was", async () => {
    const result = await answer({
      content: [
        { type: "text", text: "a" },
        { type: "text", text: 1 },
        "loose",
        { type: "image", data: "not base64!", mimeType: "image/png" },
        { type: "audio", data: "UklGRg", mimeType: "audio/wav" },
        { type: "image", data: "AAAA", mimeType: "application/pdf" },
        { type: "resource", resource: { uri: "file:///../../b.bin", blob: "AA_-", mimeType: "application/x" } },
        { type: "resource", resource: { uri: "mem://1", text: "body" } },
        { type: "resource_link", uri: "mem://2", name: "two", description: "Second." },
      ],
      _meta: { cost: 1 },
    });
    expect(result).toEqual({
      isError: false,
      details: { _meta: { cost: 1 } },
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "[the tool returned text that is none]" },
        { type: "text", text: "[the tool returned content that is no object]" },
        { type: "text", text: "[the tool returned image that cannot be read]" },
        { type: "file", source: { base64: "UklGRg==" }, mimeType: "audio/wav" },
        { type: "file", source: { base64: "AAAA" }, mimeType: "application/pdf" },
        { type: "file", source: { base64: "AA/+" }, mimeType: "application/x", name: "b.bin" },
        { type: "text", text: "[mem://1]\nbody" },
        { type: "text", text: "[resource link] two | mem://2 | Second." },
      ],
    });
  });

  test("says what a server calls a resource on one line, without what cannot be seen, and an address to its end", async () => {
    const hidden = "a\0\u202eb\nc\u{e0041}";
    const address = `mem://${"x".repeat(500)}`;
    const result = await answer({
      content: [
        {
          type: "resource_link",
          uri: `mem:\n${hidden}`,
          name: "n",
          title: hidden,
          mimeType: hidden,
          description: hidden,
        },
        { type: "resource_link", uri: address, name: hidden, title: "\u202e\n" },
        { type: "resource_link", uri: 7, name: null, title: {}, mimeType: [], description: "" },
        { type: "resource", resource: { uri: address, text: "body\nof it" } },
        { type: "resource", resource: { uri: `mem:${hidden}`, text: "body" } },
        { type: "resource", resource: { uri: `mem:/${hidden}`, blob: "AAAA", mimeType: `image/${"x".repeat(500)}` } },
        { type: "resource", resource: { uri: `mem:/${hidden}`, blob: "AAAA", mimeType: `text/x\n${hidden}` } },
        { type: hidden },
      ],
    });
    expect(result.content).toEqual([
      { type: "text", text: "[resource link] abc | mem:abc | abc | abc" },
      { type: "text", text: `[resource link] abc | ${address}` },
      { type: "text", text: "[resource link]" },
      { type: "text", text: `[${address}]\nbody\nof it` },
      { type: "text", text: "[mem:abc]\nbody" },
      { type: "text", text: "[the tool returned the resource mem:/abc, which cannot be read]" },
      { type: "file", source: { base64: "AAAA" }, mimeType: "text/x", name: "abc" },
      { type: "text", text: "[the tool returned content of the type abc, which is not supported]" },
    ]);
  });

  test("without a block, written as null, is empty or its structured content", async () => {
    expect(await answer({ content: null, _meta: null })).toEqual({ content: [], isError: false });
    expect(await answer({ content: null, structuredContent: { a: 1 } })).toMatchObject({ structured: { a: 1 } });
  });

  test("that says it is an error is an error result, whatever its schema", async () => {
    const result = await answer(
      { content: [{ type: "text", text: "no" }], isError: true },
      { type: "object", required: ["a"] },
    );
    expect([result.isError, textOf(result)]).toEqual([true, "no"]);
  });

  test("must fit the output schema", async () => {
    const schema = { type: "object", properties: { rows: { type: "array", items: { type: "number" } } } };
    expect(await answer({ content: [], structuredContent: { rows: [1] } }, schema)).toMatchObject({
      structured: { rows: [1] },
    });
    await expect(answer({ content: [], structuredContent: { rows: ["x"] } }, schema)).rejects.toThrow(
      'ToolError(invocation-failed): server "s" answered s__result with structured content with a fault at "/rows/0" (number)',
    );
    await expect(answer({ content: [] }, schema)).rejects.toThrow("no structured content");
  });
});
