/**
 * The files of src/adapters/models that more than one entry there may use; every other one belongs to a single entry. The build makes
 * one file of `wire`, which every adapter that speaks HTTP needs, whatever its provider.
 */
const wire: readonly string[] = [
  "breather",
  "call-limits",
  "call-model",
  "described-efforts",
  "endpoint",
  "error-body",
  "file-source",
  "given-headers",
  "healed-call",
  "http-errors",
  "json-events",
  "legal-transcript",
  "listener-guard",
  "lossless-json",
  "media-note",
  "model-failure",
  "own-names",
  "prepared",
  "provider-complaint",
  "read-text",
  "refused-media",
  "refused-replay",
  "reply-body",
  "request-watch",
  "retry-after",
  "secrets",
  "sent-choice",
  "short-hash",
  "sse",
  "to-model-error",
  "union-on-top",
  "unknown-keys",
  "wire-call-ids",
  "wire-json",
  "wire-names",
  "wire-schema",
];

/** What entries with and without the wire share; the build keeps it with the core, since a file of its own costs more to load. */
const small: readonly string[] = ["check-options", "decorator-runtime", "is-picture"];

type Shared = { readonly entries: readonly string[]; readonly files: readonly string[] };

/** What only entries of one kind share. */
const kinds: readonly Shared[] = [
  {
    entries: ["openai-chat", "openai-responses", "raw-stream"],
    files: ["openai-cache", "openai-media", "openai-parts", "openai-usage", "strict-schema"],
  },
  {
    // A stream of the application may speak chat completions.
    entries: ["openai-chat", "raw-stream"],
    files: [
      "openai-chat-calls",
      "openai-chat-content",
      "openai-chat-finish",
      "openai-chat-reasoning",
      "openai-chat-request",
      "openai-chat-stream",
      "openai-chat-transcript",
    ],
  },
  {
    // A proxy's handler is a decorator of the model behind it.
    entries: ["decorators", "proxy"],
    files: ["decorated-model", "model-error-with", "reply-chunks", "timeouts"],
  },
];

const pathOf = (name: string): string => `src/adapters/models/${name}.ts`;

export const wireFiles: readonly string[] = wire.map(pathOf);
export const smallModelFiles: readonly string[] = small.map(pathOf);

/** Who may use each shared file: entries by their source, or `"any"`. */
export const sharedModelFiles: ReadonlyMap<string, "any" | readonly string[]> = new Map([
  ...[...wire, ...small].map((name): [string, "any" | readonly string[]] => [pathOf(name), "any"]),
  ...kinds.flatMap(({ entries, files }) =>
    files.map((name): [string, readonly string[]] => [pathOf(name), entries.map(pathOf)]),
  ),
]);
