import { isJsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { readPages, type FetchPage } from "./read-pages.js";
import { decodeTool, type ListedTool } from "./listed-tool.js";

/** A tool that is not offered, and why. */
export type RefusedTool = { readonly tool: string; readonly reason: string };

/** What a server lists, over all pages. */
export type ToolPages = { readonly tools: readonly ListedTool[]; readonly refused: readonly RefusedTool[] };

/** Bounds of a listing. */
export type PageLimits = { readonly maxPages: number; readonly maxTools: number };

const MAX_REFUSED = 100;

/** Reads all pages of tools within the limits; of two tools of one name the first counts. Rejects like `readPages`. */
export async function readToolPages(fetchPage: FetchPage, limits: PageLimits): Promise<ToolPages> {
  const tools = new Map<string, ListedTool>();
  const refused: RefusedTool[] = [];
  const refuse = (tool: string, reason: string): void => {
    if (refused.length < MAX_REFUSED) refused.push({ tool: safeLabel(tool), reason });
  };
  const take = (raw: unknown): void => {
    // What is not read costs nothing.
    if (tools.size >= limits.maxTools)
      return refuse(nameOf(raw), `is beyond the ${limits.maxTools} tools that are read`);
    const decoded = decodeTool(raw);
    if (!decoded.ok) refuse(decoded.name, decoded.reason);
    else if (tools.has(decoded.tool.name)) refuse(decoded.tool.name, "is listed twice");
    else tools.set(decoded.tool.name, decoded.tool);
  };
  await readPages(fetchPage, { key: "tools", maxPages: limits.maxPages }, (raw) => {
    take(raw);
    return tools.size < limits.maxTools;
  });
  return { tools: [...tools.values()], refused };
}

function nameOf(raw: unknown): string {
  const name = isJsonObject(raw) ? raw["name"] : undefined;
  return typeof name === "string" ? name : "";
}
