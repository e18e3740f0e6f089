import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { hostile, named, started, textOf } from "../../../support/hostile-mcp.js";
import { everything, type EverythingOverHttp, everythingOverHttp, filesystem } from "../../../support/mcp-packages.js";

let web: Promise<EverythingOverHttp> | undefined;
afterAll(async () => {
  await (await web)?.[Symbol.asyncDispose]();
});

describe.each(["stdio", "streamable HTTP"] as const)(
  "the resources of the real everything server over %s",
  (transport) => {
    const open = async () => {
      const all = transport === "stdio" ? everything : { url: (await (web ??= everythingOverHttp())).url };
      return started({ servers: { all }, resources: true });
    };

    test("are listed with the templates, and read as text and as files", async () => {
      await using s = await open();
      const listed = await s.text("all__list_resources");
      expect(listed).toContain("demo://resource/static/document/");
      expect(listed).toContain("[template] demo://resource/dynamic/text/{resourceId}");
      const [uri = ""] = /demo:\/\/resource\/static\/document\/\S+/.exec(listed) ?? [];
      expect(await s.text("all__read_resource", { uri })).toMatch(new RegExp(`^\\[${uri}\\]\n`));
      expect(await s.text("all__read_resource", { uri: "demo://resource/dynamic/text/7" })).toContain("Resource 7");
      const blob = await s.call("all__read_resource", { uri: "demo://resource/dynamic/blob/7" });
      expect(blob.content[0]).toMatchObject({ type: "file", source: { base64: expect.any(String) as string } });
      expect(await s.text("all__list_resources", { contains: "BLOB" })).toMatch(/^\[template\] demo:\S+blob\S+[^\n]*$/);
    });

    test("that are not there fail their call alone", async () => {
      await using s = await open();
      expect(await s.text("all__read_resource", { uri: "demo://none" })).toMatch(/^ToolError\(invocation-failed\)/);
      expect(await s.text("all__echo", { message: "hi" })).toBe("Echo: hi");
    });
  },
);

describe("the resources of servers", () => {
  test("are offered on request only, and of those that have some", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ennead-mcp-"));
    try {
      const servers = {
        files: filesystem(folder),
        one: hostile({ tools: named("f"), resources: [{ uri: "a:1", name: "one" }] }),
        two: hostile({ toolless: true, resources: [{ uri: "a:2", name: "two" }] }),
        broken: { command: "no-such-server" },
      };
      await using s = await started({ servers, resources: true });
      const ours = (await s.names()).filter((name) => !name.startsWith("files__"));
      expect(ours).toEqual([
        "one__f",
        "one__list_resources",
        "one__read_resource",
        "two__list_resources",
        "two__read_resource",
      ]);
      expect((await s.names()).filter((name) => name.endsWith("_resource"))).not.toContain("files__read_resource");
      expect([await s.text("one__list_resources"), await s.text("two__list_resources")]).toEqual([
        "a:1 | one",
        "a:2 | two",
      ]);
      await using without = await started({ servers: { one: servers.one } });
      expect(await without.names()).toEqual(["one__f"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("leave a tool of the server its name, and need nobody's approval", async () => {
    const servers = {
      s: hostile({ tools: named("read_resource", "f"), resources: [], contents: { "a:1": { contents: [] } } }),
    };
    await using s = await started({ servers, resources: true, approved: {}, onDrift: "refuse" });
    expect(await s.names()).toEqual(["s__list_resources", "s__server_read_resource"]);
    expect(s.mcp.approve("s__read_resource")).toBe(true);
    expect(await s.text("s__read_resource")).toBe("called read_resource");
    expect(await s.text("s__server_read_resource", { uri: "a:1" })).toContain("without contents");
    expect(Object.keys(s.mcp.fingerprints())).toEqual(["s__read_resource"]);
  });

  test("are listed as text that ends no line and hides nothing, whatever the server says", async () => {
    const resources = [
      {
        uri: "a:1",
        name: "n",
        title: "Ti\ntle",
        mimeType: "text/plain",
        size: 3,
        description: `d${"x".repeat(5_000)}`,
      },
      { uri: "a:2\n[template] evil:", name: "n" },
      { uri: "a:\u202e3" },
      { uri: 4 },
      null,
      { uri: `a:${"x".repeat(5_000)}` },
    ];
    await using s = await started({
      servers: { s: hostile({ resources, templates: [{ uriTemplate: "b:{x}", name: "b" }] }) },
      resources: true,
    });
    const result = await s.call("s__list_resources");
    const lines = textOf(result).split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^a:1 \| Title \| text\/plain \| 3 bytes \| dx{199}\.\.\.\(truncated\)$/) as string,
      "[template] b:{x} | b",
      "[5 that cannot be shown]",
    ]);
    expect(result.structured).toMatchObject({
      resources: [{ uri: "a:1", size: 3 }],
      templates: [{ uriTemplate: "b:{x}", title: "b" }],
    });
  });

  test("that are endless are listed up to the limits, and shown up to two hundred", async () => {
    await using pages = await started({
      servers: { s: hostile({ resources: "endless" }) },
      resources: true,
      maxPages: 7,
    });
    expect((await pages.text("s__list_resources")).split("\n")).toHaveLength(7);
    await using many = await started({
      servers: { s: hostile({ resources: "endless" }) },
      resources: true,
      maxPages: 1_000,
      maxTools: 250,
    });
    const lines = (await many.text("s__list_resources")).split("\n");
    expect([lines.length, lines.at(-1)]).toEqual([201, '[50 more; use "contains" to find them]']);
    expect(await many.text("s__list_resources", { contains: "a://249" })).toBe("a://249 | a");
  });

  test("are cut where the limit is, also within a page", async () => {
    const templates = Array.from({ length: 5 }, (_, index) => ({ uriTemplate: `t:${index}` }));
    await using s = await started({
      servers: { s: hostile({ resources: [], templates }) },
      resources: true,
      maxTools: 3,
    });
    expect(await s.text("s__list_resources")).toBe("[template] t:0\n[template] t:1\n[template] t:2");
  });

  test("are offered by tools that say they only read", async () => {
    await using s = await started({ servers: { s: hostile({ resources: [] }) }, resources: true });
    const ours = (await s.list()).filter(({ name }) => name.endsWith("_resources") || name.endsWith("_resource"));
    expect(ours.map(({ annotations }) => annotations)).toEqual([{ readOnlyHint: true }, { readOnlyHint: true }]);
  });

  test.each([
    ["no list", { resources: "none" }, /holds no list of resources/],
    ["no list of templates", { resources: [], templates: 7 }, /holds no list of resourceTemplates/],
  ])("answered with %s are an error of their call", async (_title, how, message) => {
    await using s = await started({ servers: { s: hostile(how) }, resources: true });
    expect(await s.text("s__list_resources")).toMatch(message);
  });

  test.each([
    ["no contents", {}, /^ToolError\(invocation-failed\): server "s": the answer holds no contents$/],
    ["contents that are none", { contents: [null, { uri: "a:1" }] }, /resource that cannot be read.*cannot be read/],
    ["a picture", { contents: [{ uri: "a:1", blob: "aGk=", mimeType: "image/png" }] }, /^<image>$/],
    ["a file", { contents: [{ uri: "a:../../etc/x\u202e.txt", blob: "aGk=" }] }, /^<file>$/],
    ["a blob that is none", { contents: [{ uri: "a:1", blob: "?", mimeType: "image/png" }] }, /cannot be read/],
    ["text", { contents: [{ uri: "a:\n1", text: "hello" }] }, /^\[a:1\]\nhello$/],
  ])("that answer a read with %s give what can be had of it", async (_title, contents, expected) => {
    await using s = await started({
      servers: { s: hostile({ resources: [], contents: { "a:1": contents } }) },
      resources: true,
    });
    expect(await s.text("s__read_resource", { uri: "a:1" })).toMatch(expected);
  });

  test("that are too large, hang, or end the server cost their call alone", async () => {
    const large = { contents: [{ uri: "big:", text: "x".repeat(50_000) }] };
    const servers = {
      s: hostile({ tools: named("f"), resources: "hangs", contents: { "big:": large } }),
      other: hostile({ says: "other" }),
    };
    await using s = await started({ servers, resources: true, maxMessageBytes: 10_000 });
    expect(await s.text("s__read_resource", { uri: "big:" })).toMatch(/10000 are allowed/);
    const controller = new AbortController();
    const listing = s.text("s__list_resources", {}, { signal: controller.signal });
    expect(await s.text("s__f")).toBe("called f");
    controller.abort();
    expect(await listing).toMatch(/^ToolError\(aborted\)/);
    expect(await s.text("s__read_resource", { uri: "die:" })).toMatch(/went away during the call/);
    expect(await s.text("other__f")).toBe("other f");
    expect(await s.text("s__f")).toBe("called f");
  });

  test("that changed are told of", async () => {
    await using s = await started({ servers: { s: hostile({ resources: [] }) }, resources: true });
    await s.text("s__read_resource", { uri: "changed:" });
    expect(await s.event("resourcesChanged")).toEqual({ type: "resourcesChanged", server: "s" });
  });

  test("are called with what the schemas of their tools allow", async () => {
    await using s = await started({ servers: { s: hostile({ resources: [] }) }, resources: true });
    expect(s.mcp.validate("s__read_resource", {})).toEqual({
      ok: false,
      issues: [expect.objectContaining({ path: "/uri" })],
    });
    expect(s.mcp.validate("s__list_resources", { contains: 1 }).ok).toBe(false);
    expect(s.mcp.validate("s__list_resources", {}).ok).toBe(true);
  });
});
