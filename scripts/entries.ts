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
  entry("testkit/arbitraries", "src/testkit/arbitraries/index.ts"),
  entry("testkit/vitest", "src/testkit/vitest.ts"),
  entry("tools", "src/adapters/tools/index.ts"),
  adapter("models/openai-chat"),
  adapter("models/openai-responses"),
  adapter("models/raw-stream"),
  adapter("models/anthropic"),
  adapter("models/gemini"),
  adapter("models/ai-sdk"),
  adapter("models/decorators"),
  adapter("models/proxy"),
  adapter("models/offline-demo"),
  adapter("tools/agent-tool"),
  adapter("tools/combinators"),
  adapter("tools/json-schema"),
  adapter("tools/offload"),
  adapter("tools/standard-schema"),
  adapter("tools/noop"),
  adapter("tools/memory-tools"),
  adapter("tools/mcp"),
  adapter("sessions/memory"),
  adapter("sessions/jsonl"),
  adapter("sessions/sqlite"),
  adapter("sessions/postgres"),
  adapter("sessions/redis"),
  adapter("memory/in-memory"),
  adapter("memory/sqlite"),
  adapter("memory/postgres"),
  adapter("memory/noop"),
  adapter("compressors/sliding-window"),
  adapter("compressors/token-budget"),
  adapter("compressors/tool-result-trim"),
  adapter("compressors/summarize"),
  adapter("compressors/chain"),
  adapter("compressors/gpt-tokens"),
  adapter("compressors/noop"),
  adapter("observers/console"),
  adapter("observers/noop"),
  adapter("hooks/noop"),
  adapter("hooks/hook-chain"),
  adapter("hooks/approval"),
  adapter("hooks/recall"),
  adapter("hooks/guardrail"),
  adapter("hooks/redact"),
  adapter("hooks/audit"),
  adapter("lifecycle/noop"),
  adapter("lifecycle/composite"),
  adapter("commands/noop"),
  adapter("commands/registry"),
  adapter("commands/session-commands"),
  adapter("hosts/terminal"),
  adapter("hosts/mcp-server"),
];

/** The command `ennead`: ESM only, and no entry point. */
export const cli = { source: "src/adapters/hosts/cli.ts", out: "cli" } as const;

/**
 * Packages that adapters may import and that dist holds a copy of (docs/decisions/0003-bundled-schema-library.md). `installed`: the
 * declarations name it, so it is a dependency all the same; the others are needed to build only.
 */
export const bundled: Readonly<Record<string, { readonly installed: boolean }>> = {
  "@sinclair/typebox": { installed: true },
  "eventsource-parser": { installed: false },
};

/** Optional peers, each with the source files that may import it. */
export const peers: Readonly<Record<string, readonly string[]>> = {
  tsyringe: ["src/agent/container.ts"],
  "reflect-metadata": ["src/agent/container.ts"],
  "@ai-sdk/provider": ["src/adapters/models/ai-sdk/ai-sdk-types.ts"],
  ajv: ["src/adapters/tools/json-schema/bounded-ajv.ts", "src/adapters/tools/json-schema/schema-validator.ts"],
  pg: ["src/adapters/databases/postgres-database.ts"],
  "sqlite-vec": ["src/adapters/memory/sqlite-vec.ts"],
  "fast-check": ["any-delta", "any-message", "any-stream", "any-text", "any-tool", "any-transcript"].map(
    (name) => `src/testkit/arbitraries/${name}.ts`,
  ),
  "gpt-tokenizer": ["src/adapters/compressors/gpt-tokens.ts"],
  ioredis: ["src/adapters/sessions/redis-connection.ts"],
  "@modelcontextprotocol/server": [
    "src/adapters/hosts/mcp-server.ts",
    "src/adapters/hosts/mcp/agent-server.ts",
    "src/adapters/hosts/mcp/asked-params.ts",
    "src/adapters/hosts/mcp/encode-result.ts",
    "src/adapters/hosts/mcp/http-sessions.ts",
    "src/adapters/hosts/mcp/served-commands.ts",
    "src/adapters/hosts/mcp/stream-transport.ts",
  ],
  "@modelcontextprotocol/client": [
    "src/adapters/tools/mcp/as-it-is.ts",
    "src/adapters/tools/mcp/http-transport.ts",
    "src/adapters/tools/mcp/mcp-client.ts",
    "src/adapters/tools/mcp/mcp-connection.ts",
    "src/adapters/tools/mcp/mcp-failure.ts",
    "src/adapters/tools/mcp/mcp-session.ts",
    "src/adapters/tools/mcp/mcp-transports.ts",
    "src/adapters/tools/mcp/rounds.ts",
    "src/adapters/tools/mcp/sound-answer.ts",
    "src/adapters/tools/mcp/stdio-transport.ts",
    "src/adapters/tools/mcp/unheard.ts",
  ],
  vitest: ["src/testkit/vitest.ts"],
};
