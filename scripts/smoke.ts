import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readApi } from "./api-report.ts";
import { bundled, type Entry, peers } from "./entries.ts";
import { checkRunners } from "./packed-claims.ts";

/** Installs the packed tarball somewhere else and uses it there as an ES module and as CommonJS. */
const place = mkdtempSync(join(tmpdir(), "ennead-smoke-"));

function run(command: string, args: readonly string[], cwd?: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

const api = readApi();

/** Checks that every entry exports exactly the names its declarations promise. */
const exportsCheck = `
for (const [specifier, names] of ${JSON.stringify(api.map(({ entry, values }) => [entry.specifier, values]))}) {
  const found = Object.keys(await load(specifier)).filter((name) => name !== "__esModule" && name !== "module.exports");
  assert.deepEqual(found.sort(), names.slice().sort(), specifier);
}
`;

/** Runs a turn of an agent from a container; nobody imports reflect-metadata here, and tsyringe comes second. */
const containerCheck = `
const { createAgent, Ports } = await load("ennead/container");
const { MemorySessionStore } = await load("ennead/sessions/memory");
const { container } = await load("tsyringe");
const scope = container.createChildContainer();
const reply = { parts: [{ type: "text", text: "hello" }], finishReason: "stop" };
scope.registerInstance(Ports.Model, { chat: async () => reply });
scope.registerInstance(Ports.Sessions, new MemorySessionStore());
const agent = await createAgent(scope);
const result = await agent.runTurn("hi", "smoke");
assert.equal(result.text, "hello");
assert.equal(result.status, "completed");
await agent.shutdown();
`;

/** A format registered through the package holds for its tools, although the schema library is built in. */
const formatCheck = `
const { FormatRegistry, Type, defineTool } = await load("ennead/tools");
FormatRegistry.Set("even-length", (text) => text.length % 2 === 0);
const parameters = Type.Object({ word: Type.String({ format: "even-length" }) });
const tool = defineTool({ name: "say", description: "Says a word.", parameters, execute: ({ word }) => word });
assert.equal(tool.validate("say", { word: "even" }).ok, true);
assert.equal(tool.validate("say", { word: "odd" }).ok, false);
`;

/** What is said where a peer that is loaded when it is needed is not installed: what to install. */
const missingCheck = `
const { PostgresSessionStore } = await load("ennead/sessions/postgres");
const { RedisSessionStore } = await load("ennead/sessions/redis");
const { gptTokens } = await load("ennead/compressors/gpt-tokens");
const url = "://127.0.0.1:1";
await assert.rejects(new PostgresSessionStore({ url: "postgres" + url }).load("a"), /needs the package pg \\(npm install pg\\)/);
await assert.rejects(new RedisSessionStore({ url: "redis" + url }).load("a"), /needs the package ioredis \\(npm install ioredis\\)/);
await assert.rejects(gptTokens(), /needs the package gpt-tokenizer \\(npm install gpt-tokenizer\\)/);
`;

/** The peers that an entry may load: those of its own file and of the folder it stands for. */
function peersOf({ source }: Entry): readonly string[] {
  const folder = `${source.replace(/(?:\/index)?\.ts$/, "")}/`;
  return Object.keys(peers).filter((name) => peers[name]?.some((file) => file === source || file.startsWith(folder)));
}

/** Every entry alone: how many files it loads, and that it loads no optional peer unless the table says so. */
const loadCheck = `
const { execFileSync } = require("node:child_process");
for (const [specifier, allowed] of ${JSON.stringify(api.map(({ entry }) => [entry.specifier, peersOf(entry)]))}) {
  const script = "require(" + JSON.stringify(specifier) + "); console.log(JSON.stringify(Object.keys(require.cache)))";
  const files = JSON.parse(execFileSync(process.execPath, ["-e", script], { encoding: "utf8" }));
  const own = files.filter((file) => /node_modules[\\\\/]ennead[\\\\/]/.test(file));
  assert.ok(own.length <= (specifier.includes("/hosts/") ? 12 : 6), specifier + " loads " + own.length + " files:\\n" + own.join("\\n"));
  for (const peer of ${JSON.stringify(Object.keys(peers))}) {
    const loaded = files.some((file) => file.replaceAll("\\\\", "/").includes("node_modules/" + peer + "/"));
    assert.ok(!loaded || allowed.includes(peer), specifier + " loads " + peer);
  }
}
`;

try {
  const listing: unknown = JSON.parse(run("npm", ["pack", "--json", "--silent", "--pack-destination", place]));
  // A list, or in newer versions of npm an object by package name.
  const [packed] = Object.values(listing as object) as [{ filename: string; size: number; entryCount: number }];
  const tarball = join(place, packed.filename);
  run("publint", ["run", tarball, "--strict"]);
  run("attw", [tarball, "--profile", "node16"]);

  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { devDependencies: Record<string, string> };
  writeFileSync(join(place, "package.json"), JSON.stringify({ name: "smoke", private: true }));
  const wanted = Object.keys(peers).map((name) => `${name}@${manifest.devDependencies[name] ?? "missing"}`);
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", tarball, ...wanted], place);
  // Not whether a bundled package is there: a peer may have brought it.
  const { dependencies } = JSON.parse(readFileSync(join(place, "node_modules/ennead/package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const installed = Object.keys(bundled).filter((name) => bundled[name]?.installed);
  assert.deepEqual(Object.keys(dependencies).sort(), installed.sort(), "what an installation fetches");
  for (const name of installed) assert.ok(existsSync(join(place, "node_modules", name)), `${name} is installed`);

  writeFileSync(
    join(place, "smoke.mjs"),
    `import assert from "node:assert/strict";\nconst load = (name) => import(name);\n${containerCheck}${formatCheck}${exportsCheck}`,
  );
  writeFileSync(
    join(place, "missing.mjs"),
    `import assert from "node:assert/strict";\nconst load = (name) => import(name);\n${missingCheck}`,
  );
  writeFileSync(
    join(place, "smoke.cjs"),
    `const assert = require("node:assert/strict");\nconst load = require;\n(async () => {${containerCheck}${formatCheck}${exportsCheck}${loadCheck}})();`,
  );
  run("node", ["smoke.mjs"], place);
  run("node", ["smoke.cjs"], place);
  run("npx", ["--no-install", "ennead", "--help"], place);
  cpSync("examples/parts", join(place, "examples/parts"), { recursive: true });
  cpSync("examples/testing", join(place, "examples/testing"), { recursive: true });
  run("npx", ["--no-install", "ennead", "check", "examples/testing/check-session-store.ts"], place);
  const runners = await checkRunners(place);
  for (const name of ["pg", "ioredis", "gpt-tokenizer"]) rmSync(join(place, "node_modules", name), { recursive: true });
  run("node", ["missing.mjs"], place);
  console.log(
    `smoke: ${packed.entryCount} files, ${Math.round(packed.size / 1024)} KB packed; ESM, CommonJS and bin work, claims with ${runners.join(", ")}`,
  );
} finally {
  rmSync(place, { recursive: true, force: true });
}
