/** Everything the package publishes. The build, the exports map, the API report and the smoke test derive from this table. */
export interface Entry {
  /** What users import. */
  readonly specifier: string;
  readonly source: string;
  /** Name of the files in dist, without extension. The build is flat, so that chunks find each other. */
  readonly out: string;
}

const entry = (path: string, source: string): Entry => ({
  specifier: path === "" ? "ennead" : `ennead/${path}`,
  source,
  out: path === "" ? "index" : path.replaceAll("/", "-"),
});

const adapter = (path: string): Entry => entry(path, `src/adapters/${path}.ts`);

export const entries: readonly Entry[] = [
  entry("", "src/index.ts"),
  entry("container", "src/agent/container.ts"),
  entry("testkit", "src/testkit/index.ts"),
  entry("tools", "src/adapters/tools/index.ts"),
  adapter("models/openai-chat"),
  adapter("models/offline-demo"),
  adapter("tools/noop"),
  adapter("sessions/memory"),
  adapter("sessions/sqlite"),
  adapter("memory/in-memory"),
  adapter("memory/noop"),
  adapter("compressors/sliding-window"),
  adapter("compressors/noop"),
  adapter("observers/console"),
  adapter("observers/noop"),
  adapter("hooks/noop"),
  adapter("hooks/hook-chain"),
  adapter("lifecycle/noop"),
  adapter("lifecycle/composite"),
  adapter("commands/noop"),
  adapter("commands/registry"),
  adapter("commands/session-commands"),
  adapter("hosts/terminal"),
];

/** The command `ennead`: ESM only, and no entry point. */
export const cli = { source: "src/adapters/hosts/cli.ts", out: "cli" } as const;

/** Packages that source files may import besides relative paths and node: modules. */
export const dependencies: readonly string[] = ["@sinclair/typebox", "eventsource-parser"];

/** Those that dist holds a copy of. TypeBox stays a dependency for its types, and so that both name one version. */
export const bundled: readonly (string | RegExp)[] = [/^@sinclair\/typebox/, "eventsource-parser"];

/** Optional peers, each with the source files that may import it. */
export const peers: Readonly<Record<string, readonly string[]>> = {
  tsyringe: ["src/agent/container.ts"],
  "reflect-metadata": ["src/agent/container.ts"],
};
