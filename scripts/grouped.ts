import { readdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Plugin, PluginBuild } from "esbuild";
import { entries } from "./entries.ts";
import { smallModelFiles, wireFiles } from "./model-files.ts";

/**
 * Folders and files that many entries share are built into one file each: an import loads two or three files instead of dozens, and a
 * class exists once per format. A module with an entry of its own belongs to no group, and a barrel is only a list of names.
 */
const groups: Readonly<Record<string, readonly string[]>> = {
  core: ["src/domain", "src/ports", ...smallModelFiles],
  agent: ["src/agent"],
  wire: wireFiles,
  tool: [
    "src/adapters/tools/schema-check",
    "src/adapters/tools/check-definition.ts",
    "src/adapters/tools/checked-output.ts",
    "src/adapters/tools/made-tool.ts",
  ],
  databases: [
    "src/adapters/databases",
    "src/adapters/sessions/session-text.ts",
    "src/adapters/sessions/stored-text.ts",
  ],
};

export const groupEntries = Object.fromEntries(Object.keys(groups).map((group) => [group, `group:${group}`]));

// Not import.meta: this file is bundled into the build configuration.
const root = process.cwd();
const entrySources = new Set(entries.map((entry) => resolve(root, entry.source)));

function membersOf(group: string): string[] {
  return (groups[group] ?? [])
    .map((path) => join(root, path))
    .flatMap((path) =>
      path.endsWith(".ts")
        ? [path]
        : readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name)),
    )
    .filter((file) => file.endsWith(".ts") && basename(file) !== "index.ts" && !entrySources.has(file))
    .sort();
}

/** The names each file exports at run time; types are gone by then. */
async function exportsOf(
  build: PluginBuild,
  files: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await build.esbuild.build({
    entryPoints: [...files],
    absWorkingDir: root,
    outdir: "unused",
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    metafile: true,
    write: false,
  });
  const outputs = Object.values(metafile.outputs).filter((output) => output.entryPoint !== undefined);
  return new Map(outputs.map((output) => [resolve(root, output.entryPoint ?? ""), output.exports]));
}

/** Imports from outside a group get `export {names} from "./group.js"`, so that `export *` cannot publish the whole group. */
export const grouped = (extension: ".js" | ".cjs"): Plugin => ({
  name: "grouped",
  async setup(build) {
    const members = new Map(Object.keys(groups).flatMap((group) => membersOf(group).map((file) => [file, group])));
    const names = await exportsOf(build, [...members.keys()]);
    const reexport = (file: string, from: string): string =>
      `export { ${(names.get(file) ?? []).join(", ")} } from ${JSON.stringify(from)};`;

    build.onResolve({ filter: /^group:/ }, ({ path, kind }) =>
      kind === "entry-point"
        ? { path: path.slice("group:".length), namespace: "group" }
        : { path: `./${path.slice("group:".length)}${extension}`, external: true, sideEffects: false },
    );
    build.onLoad({ filter: /.*/, namespace: "group" }, ({ path }) => ({
      contents: membersOf(path)
        .map((file) => reexport(file, file))
        .join("\n"),
      resolveDir: root,
    }));
    build.onResolve({ filter: /^\.\.?\// }, ({ path, importer, namespace }) => {
      if (namespace !== "file") return undefined;
      const target = resolve(dirname(importer), path).replace(/\.js$/, ".ts");
      const group = members.get(target);
      if (group === undefined || group === members.get(importer)) return undefined;
      // One copy of the few names for each importer; otherwise they would be shared and become a chunk of their own.
      const suffix = `?${relative(root, importer)}`;
      return { path: relative(root, target), suffix, namespace: "member", sideEffects: false };
    });
    build.onLoad({ filter: /.*/, namespace: "member" }, ({ path }) => ({
      contents: reexport(resolve(root, path), `group:${members.get(resolve(root, path)) ?? ""}`),
    }));
  },
});
