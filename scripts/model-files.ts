import { readdirSync } from "node:fs";

const FOLDER = "src/adapters/models";

const pathOf = (name: string): string => `${FOLDER}/${name}.ts`;
const filesIn = (folder: string): readonly string[] =>
  readdirSync(`${FOLDER}/${folder}`)
    .sort()
    .map((name) => `${FOLDER}/${folder}/${name}`);

/** What every adapter that speaks HTTP needs, whatever its provider; the build makes one file of it. */
export const wireFiles: readonly string[] = filesIn("wire");

/** What entries with and without the wire share; the build keeps it with the core, since a file of its own costs more to load. */
export const smallModelFiles: readonly string[] = filesIn("common");

type Shared = { readonly entries: readonly string[]; readonly files: readonly string[] };

/** What only entries of one kind share. */
const kinds: readonly Shared[] = [
  { entries: ["openai-chat", "openai-responses", "raw-stream"], files: filesIn("openai") },
  // A stream of the application may speak chat completions.
  { entries: ["openai-chat", "raw-stream"], files: filesIn("openai-chat") },
  {
    // A proxy's handler is a decorator of the model behind it.
    entries: ["decorators", "proxy"],
    files: ["decorated-model", "model-error-with", "reply-chunks", "timeouts"].map((name) =>
      pathOf(`decorators/${name}`),
    ),
  },
];

/** Who may use each file that more than one entry uses: entries by their source, or `"any"`. Every other file belongs to one entry. */
export const sharedModelFiles: ReadonlyMap<string, "any" | readonly string[]> = new Map([
  ...[...wireFiles, ...smallModelFiles].map((path): [string, "any" | readonly string[]] => [path, "any"]),
  ...kinds.flatMap(({ entries, files }) =>
    files.map((path): [string, readonly string[]] => [path, entries.map(pathOf)]),
  ),
]);
