import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { Wish } from "./offline-wishes.js";

/** A tool and the arguments the rules made for it. */
export type PlannedCall = { readonly tool: ToolDef; readonly args: JsonObject };

/** Words that speak for a tool; the first group must be met by its name or description. */
const CUES: Readonly<Record<Exclude<Wish["kind"], "other">, readonly [readonly string[], readonly string[]]>> = {
  list: [
    ["list", "ls"],
    ["files", "file", "folder", "folders", "directory", "dir"],
  ],
  read: [
    ["read", "open", "cat", "show"],
    ["file", "files", "content", "contents", "text"],
  ],
  search: [
    ["search", "find", "grep"],
    ["text", "files", "lines", "word"],
  ],
  calculate: [
    ["calculate", "calculator", "arithmetic", "math", "compute", "evaluate"],
    ["numbers", "expression"],
  ],
  time: [
    ["time", "clock", "date"],
    ["current", "now"],
  ],
};

/** The tool of the list that fits a wish best, with arguments its schema asks for; nothing where none fits or an argument is missing. */
export function planCall(wish: Wish, tools: readonly ToolDef[]): PlannedCall | undefined {
  const ranked = tools
    .map((tool) => ({ tool, score: scoreOf(wish, tool) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  for (const { tool } of ranked) {
    const args = argumentsFor(wish, tool.inputSchema);
    if (args !== undefined) return { tool, args };
  }
  return undefined;
}

function scoreOf(wish: Wish, tool: ToolDef): number {
  const name = wordsOf(tool.name);
  if (wish.kind === "other") {
    const said = new Set(wordsOf(wish.clause));
    const telling = name.filter((word) => word.length > 2 && !WEAK.has(word));
    return telling.length > 0 && telling.every((word) => said.has(word)) ? telling.length : 0;
  }
  const [must, more] = CUES[wish.kind];
  const description = new Set(wordsOf(tool.description));
  const hits = (cues: readonly string[]): number =>
    cues.reduce((sum, cue) => sum + (name.includes(cue) ? 4 : description.has(cue) ? 1 : 0), 0);
  return hits(must) === 0 ? 0 : hits(must) * 2 + hits(more);
}

/** Words of tool names that say nothing about what the tool is for. */
const WEAK: ReadonlySet<string> = new Set(["get", "set", "the", "tool", "run", "make", "fetch", "lookup"]);

function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, 2_000)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

type Part = "path" | "text" | "expression" | "zone";

const ROLES: readonly (readonly [RegExp, Part])[] = [
  [/path|file|folder|dir/i, "path"],
  [/expr|formula|calculation|sum/i, "expression"],
  [/zone|tz/i, "zone"],
  [/text|query|pattern|needle|search|term|keyword|word/i, "text"],
];

/** Fills every property the wish has something for; nothing when a required one stays empty. */
function argumentsFor(wish: Wish, schema: JsonObject): JsonObject | undefined {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const args: Record<string, Json> = {};
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const needed = required.includes(name) && property["default"] === undefined;
    const value = valueFor(wish, name, property, needed);
    if (value !== undefined) args[name] = value;
    else if (needed) return undefined;
  }
  return args;
}

function valueFor(wish: Wish, name: string, property: JsonObject, needed: boolean): Json | undefined {
  const choices: Json | undefined = property["enum"];
  if (isJsonArray(choices)) {
    const said = wordsOf(wish.clause);
    return choices.find((choice) => typeof choice === "string" && said.includes(choice.toLowerCase()));
  }
  switch (property["type"]) {
    case "string": {
      const part = roleOf(name, property);
      const value = part === undefined ? undefined : wish[part];
      return value ?? (needed ? (wish.text ?? wish.path ?? wish.expression) : undefined);
    }
    case "integer":
    case "number": {
      const number = needed ? /-?[0-9]+(?:\.[0-9]+)?/.exec(wish.clause)?.[0] : undefined;
      return number === undefined ? undefined : Number(number);
    }
    default:
      return undefined;
  }
}

function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function roleOf(name: string, property: JsonObject): Part | undefined {
  const description = typeof property["description"] === "string" ? property["description"] : "";
  const role = ROLES.find(([cue]) => cue.test(name)) ?? ROLES.find(([cue]) => cue.test(description));
  return role?.[1];
}
