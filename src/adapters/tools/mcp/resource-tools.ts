import { type Json, isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { ToolResult } from "../../../domain/tool.js";
import { decodeTool, type ListedTool } from "./listed-tool.js";
import { addressOf, wordsOf } from "./server-words.js";

/** What a server lists beside its tools, as it said it; templates are addresses with a gap to be filled. */
export type ListedResources = { readonly resources: readonly unknown[]; readonly templates: readonly unknown[] };

/** A model reads all of them. */
const MAX_SHOWN = 200;

const DEFINITIONS = [
  {
    name: "list_resources",
    method: "resources/list",
    description:
      "Lists the resources this server offers to be read: one line each, its URI first. A line that begins with [template] holds a URI " +
      "template; fill in what stands in braces to get a URI.",
    inputSchema: {
      type: "object",
      properties: {
        contains: { type: "string", description: "Only resources whose line holds this text, in any case." },
      },
    },
  },
  {
    name: "read_resource",
    method: "resources/read",
    description: "Reads one resource of this server by its URI.",
    inputSchema: { type: "object", properties: { uri: { type: "string", minLength: 1 } }, required: ["uri"] },
  },
] as const;

/** Two tools that list and read the resources of a server, under names that none of its own tools has. */
export function resourceTools(own: readonly ListedTool[]): readonly ListedTool[] {
  const taken = new Set(own.map(({ name }) => name));
  return DEFINITIONS.map(({ method, ...definition }) => {
    let { name }: { name: string } = definition;
    while (taken.has(name)) name = `server_${name}`;
    const decoded = decodeTool({ ...definition, name, annotations: { readOnlyHint: true } });
    if (!decoded.ok) throw new TypeError(decoded.reason);
    return { ...decoded.tool, method };
  });
}

type Line = { readonly text: string; readonly entry: JsonObject; readonly kind: "resources" | "templates" };

/**
 * One line for each resource, in the words of the server without what a line cannot hold. One whose address is no plain line is counted only: the
 * model could not say it.
 */
export function decodeListing({ resources, templates }: ListedResources, contains: Json | undefined): ToolResult {
  const all = [...resources.map((raw) => lineOf(raw, "uri")), ...templates.map((raw) => lineOf(raw, "uriTemplate"))];
  const wanted = typeof contains === "string" ? contains.toLowerCase() : "";
  const sound = all.filter((line) => line !== undefined);
  const found = sound.filter(({ text }) => text.toLowerCase().includes(wanted));
  const shown = found.slice(0, MAX_SHOWN);
  const notes = [
    ...(shown.length === 0 ? ["no resources"] : []),
    ...(found.length > shown.length ? [`${found.length - shown.length} more; use "contains" to find them`] : []),
    ...(all.length > sound.length ? [`${all.length - sound.length} that cannot be shown`] : []),
  ];
  const of = (kind: Line["kind"]): Json => shown.filter((line) => line.kind === kind).map(({ entry }) => entry);
  return {
    content: [
      { type: "text", text: [...shown.map(({ text }) => text), ...notes.map((note) => `[${note}]`)].join("\n") },
    ],
    structured: { resources: of("resources"), templates: of("templates") },
    isError: false,
  };
}

function lineOf(raw: unknown, key: "uri" | "uriTemplate"): Line | undefined {
  const address = isJsonObject(raw) ? raw[key] : undefined;
  if (!isJsonObject(raw) || typeof address !== "string" || address === "") return undefined;
  if (addressOf(address) !== address) return undefined;
  const { name, title, description, mimeType, size } = raw;
  const words = {
    title: wordsOf(title) ?? wordsOf(name),
    mimeType: wordsOf(mimeType),
    description: wordsOf(description),
  };
  const bytes = typeof size === "number" ? size : undefined;
  const parts = [
    address,
    words.title,
    words.mimeType,
    bytes === undefined ? undefined : `${bytes} bytes`,
    words.description,
  ];
  const text = parts.filter((part) => part !== undefined).join(" | ");
  const entry = Object.fromEntries(
    Object.entries({ [key]: address, ...words, size: bytes }).filter(
      (field): field is [string, string | number] => field[1] !== undefined,
    ),
  );
  return key === "uri" ? { text, entry, kind: "resources" } : { text: `[template] ${text}`, entry, kind: "templates" };
}
