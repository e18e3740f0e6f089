import { Type } from "@sinclair/typebox";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { errorResult, okResult, type ToolResult } from "../../../domain/tool.js";
import { beginningInUtf8 } from "../../../domain/truncate-utf8.js";
import type { ToolContext } from "../../../ports/tool-provider.js";
import { defineTool } from "../define-tool.js";
import type { DefinedTool } from "../made-tool.js";
import type { ResultPage, ResultStore } from "./result-store.js";

/** Bytes that are left for what stands around a page. */
const NOTE_BYTES = 192;

/** The tool that reads what was offloaded, in pages of at most `maxBytes` bytes. Its own results are never offloaded. */
export function readResultTool(name: string, store: ResultStore, maxBytes: number): DefinedTool {
  const most = maxBytes - NOTE_BYTES;
  return defineTool({
    name,
    source: "offloadResults",
    description:
      "Reads more of a result that was too large to be shown whole. Positions and lengths are counted in characters.",
    parameters: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 512,
        description: "The id that stood with the beginning of the result.",
      }),
      offset: Type.Integer({ minimum: 0, default: 0 }),
      limit: Type.Integer({ minimum: 1, maximum: most, default: most }),
    }),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    execute: async ({ id, offset, limit }, { sessionId }: ToolContext) => {
      const page = await pageFrom(store, { sessionId, id }, { offset, limit });
      if (page === undefined)
        return errorResult(`There is no result ${safeLabel(id)} here, or it is not kept any more.`);
      return shown(page, offset, most);
    },
  });
}

/** What a store says of itself, paths and hosts, is not for the model. */
async function pageFrom(
  store: ResultStore,
  key: Parameters<ResultStore["read"]>[0],
  range: Parameters<ResultStore["read"]>[1],
): Promise<ResultPage | undefined> {
  try {
    const page: unknown = await store.read(key, range);
    if (page === undefined || isPage(page)) return page;
    throw new TypeError("the store answered with what is no page");
  } catch (cause) {
    throw new Error("the stored results cannot be read now", { cause });
  }
}

function isPage(value: unknown): value is ResultPage & JsonObject {
  return isJsonObject(value) && typeof value["text"] === "string" && Number.isSafeInteger(value["total"]);
}

/** A page may have fewer characters than were asked for: they take more bytes than one each. */
function shown({ text, total }: ResultPage, offset: number, most: number): ToolResult {
  if (offset >= total && total > 0) return errorResult(`The result ends at ${total}: there is nothing at ${offset}.`);
  const page = beginningInUtf8(text, most);
  const end = offset + [...page].length;
  const note =
    end < total
      ? `[${offset} to ${end} of ${total}; the next page begins at ${end}]`
      : `[${offset} to ${end} of ${total}: the end]`;
  return okResult(`${page}\n${note}`);
}
