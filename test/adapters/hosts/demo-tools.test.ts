import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { demoTools } from "../../../src/adapters/hosts/demo-tools.js";
import { contentText } from "../../../src/domain/content.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { ToolResult } from "../../../src/domain/tool.js";
import { runClaims, testToolContext, toolProviderClaims } from "../../../src/testkit/index.js";

let place: string;
let root: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "ennead-tools-"));
  root = join(place, "root");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "README.md"), Array.from({ length: 900 }, (_, i) => `line ${i + 1}`).join("\n"));
  writeFileSync(join(root, "src", "a.ts"), "export const a = 1;\n");
});

afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

/** Runs a tool by name; an error result is given as `error: text`. */
async function run(name: string, args: JsonObject): Promise<string> {
  for (const tool of demoTools({ root, now: () => Date.UTC(2030, 0, 2, 3, 4, 5) })) {
    const [def] = await tool.listTools({ signal: new AbortController().signal });
    if (def?.name !== name) continue;
    const call = { id: "c", name, arguments: args };
    const result = (await tool.execute(call, testToolContext())) as string | ToolResult;
    if (typeof result === "string") return result;
    return `${result.isError ? "error: " : ""}${contentText(result.content)}`;
  }
  throw new Error(`no tool ${name}`);
}

describe("a demo tool keeps the claims of its port", () => {
  runClaims({
    test: it,
    claims: toolProviderClaims,
    make: () => {
      const provider = demoTools({ root: "." })[3];
      if (provider === undefined) throw new Error("no calculate");
      const call = { name: "calculate", arguments: { expression: "6 * 7" } };
      return { provider, call, invalid: { arguments: { expression: 1 }, path: "/expression" } };
    },
    capabilities: { abort: { missing: "a sum takes no time" }, changes: { missing: "the list is constant" } },
  });
});

describe("demoTools", () => {
  it("lists a folder, and makes one harmless line of any name", async () => {
    writeFileSync(join(root, "x\ny\u001b[2J"), "");
    symlinkSync("/", join(root, "up"));
    expect(await run("list_files", { path: "." })).toBe("README.md\nsrc/\nup (link, not followed)\nx\\u{a}y\\u{1b}[2J");
  });

  it("reads a file by pages and says what follows", async () => {
    const first = await run("read_file", { path: "README.md", firstLine: 1 });
    expect(first.startsWith("line 1\n")).toBe(true);
    expect(first.endsWith("line 400\n(500 more lines follow line 400)")).toBe(true);
    expect((await run("read_file", { path: "README.md", firstLine: 801 })).endsWith("line 900")).toBe(true);
    expect(await run("read_file", { path: "README.md", firstLine: 901 })).toBe("(the file has 900 lines)");
  });

  it("searches text", async () => {
    expect(await run("search_text", { text: "const a", path: ".", ignoreCase: false })).toBe(
      "src/a.ts:1: export const a = 1;",
    );
  });

  it("does sums and tells the time", async () => {
    expect(await run("calculate", { expression: "2 + 3 * 4" })).toBe("14");
    expect(await run("current_time", { timeZone: "Europe/Paris" })).toContain("2030-01-02T03:04:05.000Z");
  });

  it("gives the model an error result for what it may mend, without naming paths of this machine", async () => {
    for (const [name, args] of [
      ["read_file", { path: "../secret", firstLine: 1 }],
      ["read_file", { path: "missing", firstLine: 1 }],
      ["list_files", { path: "README.md" }],
      ["search_text", { text: "x", path: "missing", ignoreCase: false }],
      ["calculate", { expression: "require('fs')" }],
      ["current_time", { timeZone: "Mars/Base" }],
    ] as const) {
      const answer = await run(name, args);
      expect(answer, name).toMatch(/^error: /);
      expect(answer, name).not.toContain(place);
    }
  });

  it("only reads: every tool says so", async () => {
    for (const tool of demoTools({ root })) {
      const defs = await tool.listTools({ signal: new AbortController().signal });
      expect(defs.map((def) => def.annotations?.readOnlyHint)).toEqual([true]);
    }
  });
});
