import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";

/** Bytes of `ennead/testkit`, minified and gzipped, without the domain and the agent, which it shares with `ennead` (docs/decisions/0007-size-of-the-testkit.md). */
export interface TestkitSizes {
  /** What a test of an agent is written with, and what runs claims: everything but the parts. */
  readonly own: number;
  /** Each table of claims and each further folder of tools, by name, with what it uses of the rest. */
  readonly parts: Readonly<Record<string, number>>;
  /** All of it in one file. */
  readonly whole: number;
  /** Files of other packages that it would bring along; none are allowed. */
  readonly packages: readonly string[];
}

const testkit = "src/testkit";
/** Not a part: the fakes belong to every test, the claims are measured by table, the arbitraries are an entry of their own. */
const ownFolders = ["fakes", "claims", "arbitraries"];

const folders = readdirSync(testkit, { withFileTypes: true })
  .filter((item) => item.isDirectory() && !ownFolders.includes(item.name))
  .map(({ name }) => name);

/** What the list of tables imports as values. */
const tables = [
  ...readFileSync(`${testkit}/claims/claim-tables.ts`, "utf8").matchAll(/^import \{.*from "\.\/(.*)\.js"/gm),
].map(([, name = ""]) => name);

const isShared = (path: string): boolean => /\/(domain|ports|agent)\//.test(path);
const isPart = (path: string): boolean =>
  tables.includes(basename(path, ".js")) || folders.some((name) => path.includes(`/${name}/`));

function without(isOutside: (path: string) => boolean): Plugin {
  return {
    name: "without",
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\./ }, ({ path, importer }) =>
        importer !== "<stdin>" && isOutside(path) ? { path, external: true } : undefined,
      ),
  };
}

/** All exports of these files in one. */
async function bundle(files: readonly string[], plugin: Plugin) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: files.map((file) => `export * from "./${file}";`).join("\n"), resolveDir: process.cwd() },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node22",
    plugins: [plugin],
  });
  const packages = Object.keys(metafile.inputs).filter((path) => path.includes("node_modules"));
  return { bytes: gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length, packages };
}

/** Builds each part in memory. */
export async function testkitSizes(): Promise<TestkitSizes> {
  const parts: Record<string, number> = {};
  for (const name of tables) parts[name] = (await bundle([`${testkit}/claims/${name}.ts`], without(isShared))).bytes;
  for (const name of folders) {
    const files = readdirSync(`${testkit}/${name}`).map((file) => `${testkit}/${name}/${file}`);
    parts[name] = (await bundle(files, without(isShared))).bytes;
  }
  const whole = await bundle([`${testkit}/index.ts`], without(isShared));
  const own = await bundle(
    [`${testkit}/index.ts`],
    without((path) => isShared(path) || isPart(path)),
  );
  return { own: own.bytes, parts, whole: whole.bytes, packages: whole.packages };
}

if (import.meta.main) {
  const { own, parts, whole } = await testkitSizes();
  const lines = { "tests of agents, and what runs claims": own, ...parts, whole };
  for (const [name, bytes] of Object.entries(lines))
    console.log(`${(bytes / 1000).toFixed(1).padStart(6)} KB  ${name}`);
}
