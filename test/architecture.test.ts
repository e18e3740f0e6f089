import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ESLint } from "eslint";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { bundled, cli, entries, peers } from "../scripts/entries.ts";
import { violationsOf } from "./support/dependency-rule.ts";
import { importsOf, type Module, packageOf, readModules } from "./support/module-graph.ts";

const modules = readModules("src");

const planted = (path: string, ...imports: string[]): readonly string[] => violationsOf([{ path, imports }]);

describe("the dependency rule", () => {
  test("holds for every source file", () => {
    expect(modules.length).toBeGreaterThan(0);
    expect(violationsOf(modules)).toEqual([]);
  });

  test.each([
    ["domain imports no port", "src/domain/a.ts", "../ports/model.js"],
    ["domain imports no package", "src/domain/a.ts", "@sinclair/typebox"],
    ["domain imports no platform module", "src/domain/a.ts", "node:crypto"],
    ["ports import no agent", "src/ports/a.ts", "../agent/agent.js"],
    ["ports import no package", "src/ports/a.ts", "tsyringe"],
    ["the agent imports no adapter", "src/agent/a.ts", "../adapters/sessions/memory.js"],
    ["the agent imports no validator", "src/agent/a.ts", "@sinclair/typebox/value"],
    ["the agent imports no platform module", "src/agent/agent.ts", "node:timers/promises"],
    ["tsyringe is imported by container.ts alone", "src/agent/agent.ts", "tsyringe"],
    ["nothing imports container.ts", "src/agent/agent.ts", "./container.js"],
    ["an adapter imports no agent", "src/adapters/tools/a.ts", "../../agent/agent.js"],
    ["an adapter imports no other folder of adapters", "src/adapters/tools/a.ts", "../memory/in-memory.js"],
    ["a database imports no adapter", "src/adapters/databases/a.ts", "../memory/in-memory.js"],
    ["an adapter imports no testkit", "src/adapters/tools/a.ts", "../../testkit/index.js"],
    ["an adapter imports no unlisted package", "src/adapters/models/a.ts", "left-pad"],
    ["an adapter imports no peer of another", "src/adapters/models/a.ts", "tsyringe"],
    ["a host imports no testkit", "src/adapters/hosts/a.ts", "../../testkit/index.js"],
    ["a host loads the testkit on demand only", "src/adapters/hosts/a.ts", "ennead/testkit"],
    ["an adapter does not load the testkit", "src/adapters/tools/a.ts", "ennead/testkit"],
    ["the testkit imports no adapter", "src/testkit/a.ts", "../adapters/sessions/memory.js"],
    ["the testkit imports no test runner", "src/testkit/a.ts", "vitest"],
    ["the main entry imports no other adapter", "src/index.ts", "./adapters/hooks/noop.js"],
    ["the main entry imports no container", "src/index.ts", "./agent/container.js"],
    ["nothing imports the main entry", "src/agent/a.ts", "../index.js"],
  ])("%s", (_title, path, specifier) => {
    expect(planted(path, specifier)).toEqual([`${path} may not import ${specifier}`]);
  });

  test("refuses a cycle", () => {
    const cycle: readonly Module[] = [
      { path: "src/domain/a.ts", imports: ["./b.js"] },
      { path: "src/domain/b.ts", imports: ["./a.js"] },
    ];
    expect(violationsOf(cycle)).toEqual(["cycle: src/domain/a.ts -> src/domain/b.ts -> src/domain/a.ts"]);
  });

  test("allows what each layer is made of", () => {
    expect([
      ...planted("src/ports/a.ts", "../domain/b.js", "./b.js"),
      ...planted("src/agent/a.ts", "../domain/b.js", "../ports/b.js"),
      ...planted("src/agent/container.ts", "reflect-metadata", "tsyringe", "./agent.js"),
      ...planted("src/adapters/models/a.ts", "eventsource-parser", "node:fs", "./b.js", "../../ports/b.js"),
      ...planted("src/adapters/memory/a.ts", "../databases/b.js"),
      ...planted("src/adapters/hosts/a.ts", "../tools/index.js", "../../agent/agent.js"),
      ...planted("src/testkit/a.ts", "../agent/agent.js", "../ports/b.js", "../domain/b.js"),
      ...planted("src/index.ts", "./domain/index.js", "./adapters/hooks/define-hook.js"),
    ]).toEqual([]);
  });

  test("lets a host name the types of the testkit and load it on demand", () => {
    const text = 'import type { X } from "ennead/testkit"; const a = import("ennead/testkit");';
    const module = (path: string): Module => {
      return { path, imports: importsOf(path, text), eager: importsOf(path, text, { eager: true }) };
    };
    expect(violationsOf([module("src/adapters/hosts/a.ts")])).toEqual([]);
    expect(violationsOf([module("src/adapters/tools/a.ts")])).toHaveLength(2);
    expect(importsOf("a.ts", 'import { type X } from "a"; export * from "b";', { eager: true })).toEqual(["a", "b"]);
  });

  test("sees every way to name a module", () => {
    const text = `
      import "a"; import type { X } from "b"; export * from "c"; export type { Y } from "d";
      const e = import("e"); type F = import("f").F; import g = require("g"); const h = require("h");`;
    expect(importsOf("planted.ts", text)).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
  });
});

describe("the tables of entries and peers", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };

  test("package.json installs what the declarations name and nothing else, and declares every peer as optional", () => {
    expect(Object.keys(manifest.dependencies)).toEqual(Object.keys(bundled).filter((name) => bundled[name]?.installed));
    expect(Object.keys(manifest.peerDependencies).sort()).toEqual(Object.keys(peers).sort());
    for (const name of Object.keys(peers)) expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
  });

  test("every listed package is imported where the table says", () => {
    const users = (name: string): readonly string[] =>
      modules
        .filter(({ imports }) => imports.some((specifier) => packageOf(specifier) === name))
        .map(({ path }) => path);
    for (const [name, files] of Object.entries(peers)) expect(users(name), name).toEqual([...files].sort());
    for (const name of Object.keys(bundled)) expect(users(name), name).not.toEqual([]);
  });

  test("every entry has its source, and the compiler maps its specifier there", () => {
    const { config } = ts.readConfigFile("tsconfig.json", (path) => readFileSync(path, "utf8")) as { config: unknown };
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve("."));
    for (const { specifier, source } of [...entries, { specifier: undefined, source: cli.source }]) {
      expect(existsSync(source), source).toBe(true);
      if (specifier === undefined) continue;
      const found = ts.resolveModuleName(specifier, resolve("test/planted.ts"), options, ts.sys).resolvedModule;
      expect(found?.resolvedFileName, specifier).toBe(resolve(source));
    }
  });
});

describe("the ban on clocks, chance, timers and races", () => {
  const eslint = new ESLint();
  /** The first question has the linter read the whole program, which takes its time on a machine that is busy. */
  const LINT_MS = 300_000;
  /** Lints the text as if it stood in that file, so that the rules are those of the real place. */
  const rulesBroken = async (path: string, text: string): Promise<readonly (string | null)[]> => {
    const [result] = await eslint.lintText(text, { filePath: path });
    return result?.messages.map(({ ruleId }) => ruleId) ?? [];
  };

  const plants = [
    "Date.now()",
    "new Date()",
    "performance.now()",
    "Math.random()",
    "crypto.randomUUID()",
    "globalThis.Date",
    "setTimeout(String, 1)",
    "setInterval(String, 1)",
    "setImmediate(String)",
    "AbortSignal.timeout(1)",
    "process.env",
    "Promise.all([])",
    "Promise.race([])",
    "Promise.any([])",
    "Promise.allSettled([])",
  ];

  test.each(["src/domain/errors.ts", "src/agent/agent.ts"])(
    "catches each in %s",
    { timeout: LINT_MS },
    async (path) => {
      for (const plant of plants) {
        const broken = await rulesBroken(path, `export const planted: unknown = ${plant};\n`);
        expect(
          broken.some((rule) => rule?.startsWith("no-restricted-")),
          plant,
        ).toBe(true);
      }
      expect(await rulesBroken(path, 'import "node:fs";\n')).toEqual(["no-restricted-imports"]);
      expect(await rulesBroken(path, "export const fine: unknown = Math.max(1, 2);\n")).toEqual([]);
    },
  );

  test("a comment cannot lift it", { timeout: LINT_MS }, async () => {
    const text = "/* eslint-disable */\nexport const planted: unknown = Date.now();\n";
    expect(await rulesBroken("src/domain/errors.ts", text)).toContain("no-restricted-globals");
  });

  test("the two files that own the clock are free of it", { timeout: LINT_MS }, async () => {
    const text = "export const now: unknown = Date.now();\n";
    expect(await rulesBroken("src/agent/system-runtime.ts", text)).toEqual([]);
  });
});
