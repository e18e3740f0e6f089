import { isJsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { decodeTool, type ListedTool } from "./listed-tool.js";

/** A tool that is not offered, and why. */
export type RefusedTool = { readonly tool: string; readonly reason: string };

/** What a server lists, over all pages. */
export type ToolPages = { readonly tools: readonly ListedTool[]; readonly refused: readonly RefusedTool[] };

/** Bounds of a listing. */
export type PageLimits = { readonly maxPages: number; readonly maxTools: number };

const MAX_REFUSED = 100;

/**
 * Reads all pages. It stops, and keeps what it has, at a cursor that was there before, a page without news, or a limit; of two tools of one
 * name the first counts. Rejects with what `fetchPage` rejects with, and with a TypeError for a page that holds no list.
 */
export async function readToolPages(
  fetchPage: (cursor: string | undefined) => Promise<unknown>,
  limits: PageLimits,
): Promise<ToolPages> {
  const tools = new Map<string, ListedTool>();
  const refused: RefusedTool[] = [];
  const refuse = (tool: string, reason: string): void => {
    if (refused.length < MAX_REFUSED) refused.push({ tool: safeLabel(tool), reason });
  };
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const { listed, next } = pageOf(await fetchPage(cursor));
    for (const raw of listed) {
      const decoded = decodeTool(raw);
      if (!decoded.ok) refuse(decoded.name, decoded.reason);
      else if (tools.has(decoded.tool.name)) refuse(decoded.tool.name, "is listed twice");
      else if (tools.size < limits.maxTools) tools.set(decoded.tool.name, decoded.tool);
      else refuse(decoded.tool.name, `is beyond the ${limits.maxTools} tools that are read`);
    }
    const full = tools.size >= limits.maxTools;
    if (next === undefined || cursors.has(next) || full || page >= limits.maxPages) break;
    cursors.add(next);
    cursor = next;
  }
  return { tools: [...tools.values()], refused };
}

function pageOf(raw: unknown): { readonly listed: readonly unknown[]; readonly next: string | undefined } {
  const tools = isJsonObject(raw) ? raw["tools"] : undefined;
  // So servers in some languages write an empty list.
  const listed = tools === null ? [] : tools;
  if (!isJsonObject(raw) || !Array.isArray(listed))
    throw new TypeError("the answer to tools/list holds no list of tools");
  const { nextCursor } = raw;
  return { listed, next: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined };
}
