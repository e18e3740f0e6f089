import { isJsonObject } from "../../../domain/json.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { ListContext, ToolProvider } from "../../../ports/tool-provider.js";

/** What a source lists, as it is now: types bind nobody's source. Rejects with a TypeError for what is no list of tools with names. */
export async function listedBy(source: ToolProvider, context: ListContext): Promise<readonly ToolDef[]> {
  const listed: unknown = await source.listTools(context);
  if (!Array.isArray(listed) || !listed.every(isTool)) throw new TypeError("what was listed is no list of tools");
  return [...listed];
}

function isTool(value: unknown): value is ToolDef {
  return isJsonObject(value) && typeof value["name"] === "string";
}
