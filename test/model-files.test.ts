import { builtinModules } from "node:module";
import { basename } from "node:path";
import { build, type Metafile } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { entries, peers } from "../scripts/entries.ts";
import { groupEntries, grouped } from "../scripts/grouped.ts";
import { smallModelFiles, wireFiles } from "../scripts/model-files.ts";
import { modelFilesOf, sharingViolations } from "./support/model-files.ts";
import { type Module, readModules } from "./support/module-graph.ts";

const modules = readModules("src");
const modelEntries = entries.filter(({ source }) => source.startsWith("src/adapters/models/"));
const sources = modelEntries.map(({ source }) => source);

/** A file that only names what others export leaves nothing in the build. */
const isBarrel = (path: string): boolean => /\/(decorators|proxy)\.ts$/.test(path);

/** The modules with one import more. */
const planted = (path: string, specifier: string): readonly Module[] =>
  modules.map((module) => (module.path === path ? { path, imports: [...module.imports, specifier] } : module));

describe("the files of the model adapters", () => {
  test("belong to one entry each, but for those that are listed as shared", () => {
    expect(sources).toHaveLength(9);
    expect(sharingViolations(sources, modules)).toEqual([]);
  });

  test.each([
    ["another adapter", "gemini", "./anthropic.js", "anthropic"],
    ["a file of another adapter", "gemini", "./anthropic/anthropic-thinking.js", "anthropic/anthropic-thinking"],
    ["a file that only others share", "anthropic", "./openai/openai-media.js", "openai/openai-media"],
    [
      "a file of another adapter, from a file of its own",
      "gemini/gemini-parts",
      "../ai-sdk/ai-sdk-metadata.js",
      "ai-sdk/ai-sdk-metadata",
    ],
    ["a file of an adapter, from a shared file", "wire/wire-json", "../gemini/gemini-usage.js", "gemini/gemini-usage"],
  ])("may not pull in %s", (_, from, specifier, file) => {
    const violations = sharingViolations(sources, planted(`src/adapters/models/${from}.ts`, specifier));
    expect(violations).toContainEqual(expect.stringContaining(`src/adapters/models/${file}.ts is pulled in by`));
  });

  test("are not listed as shared where only one entry uses them", () => {
    const without = modules.filter(({ path }) => path !== "src/adapters/models/raw-stream.ts");
    const stale = sharingViolations(sources, without).filter((line) => line.endsWith("is not shared"));
    expect(stale).toContain("src/adapters/models/openai-chat/openai-chat-stream.ts is not shared");
  });
});

describe("a built model entry", () => {
  let outputs: Metafile["outputs"];

  beforeAll(async () => {
    const { metafile } = await build({
      entryPoints: { ...Object.fromEntries(entries.map(({ out, source }) => [out, source])), ...groupEntries },
      outdir: "dist",
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node22",
      plugins: [grouped(".js")],
      external: [...builtinModules, ...Object.keys(peers)],
      metafile: true,
      write: false,
      logLevel: "warning",
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    });
    ({ outputs } = metafile);
  });

  /** Every built file that an import of this one loads, itself included. */
  function loaded(out: string): ReadonlySet<string> {
    const found = new Set<string>();
    const visit = (name: string): void => {
      const output = outputs[`dist/${name}`];
      if (output === undefined || found.has(name)) return;
      found.add(name);
      for (const { path, kind } of output.imports) if (kind === "import-statement") visit(basename(path));
    };
    visit(`${out}.js`);
    return found;
  }

  const modelCodeIn = (names: Iterable<string>): readonly string[] =>
    [...names]
      .flatMap((name) => Object.entries(outputs[`dist/${name}`]?.inputs ?? {}))
      .filter(([path, { bytesInOutput }]) => path.startsWith("src/adapters/models/") && bytesInOutput > 0)
      .map(([path]) => path);

  test.each(modelEntries.map(({ out, source }) => [out, source] as const))(
    "%s loads its own code and what all share, in six files at most",
    (out, source) => {
      const names = loaded(out);
      const code = modelCodeIn(names);
      expect(code.length).toBeGreaterThan(0);
      const own = modelFilesOf(source, modules);
      const grouped = [...wireFiles, ...smallModelFiles];
      expect(code.filter((path) => !own.has(path) && !grouped.includes(path))).toEqual([]);
      expect(names.size, [...names].join(" ")).toBeLessThanOrEqual(6);
    },
  );

  test("finds the wire in one file, and no code of a model twice", () => {
    const holders = new Map<string, string[]>();
    for (const name of Object.keys(outputs).map((path) => basename(path))) {
      for (const file of modelCodeIn([name])) holders.set(file, [...(holders.get(file) ?? []), name]);
    }
    for (const [file, names] of holders) {
      expect(names, file).toHaveLength(1);
      if (wireFiles.includes(file)) expect(names, file).toEqual(["wire.js"]);
    }
    expect([...holders.keys()]).toEqual(expect.arrayContaining(sources.filter((path) => !isBarrel(path))));
  });
});
