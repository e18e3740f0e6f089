import { contentText } from "../../../domain/content.js";
import { ToolError } from "../../../domain/errors.js";
import { checkValues, having, NAME, numberFrom, wholeNumber } from "../../../domain/check-values.js";
import { checkFields } from "../../../domain/known-fields.js";
import type { ToolResult } from "../../../domain/tool.js";
import { normaliseToolReturn } from "../../../domain/tool-result.js";
import { beginningInUtf8, fitsUtf8 } from "../../../domain/truncate-utf8.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../../ports/tool-provider.js";
import { composite } from "../combinators/composite.js";
import { checkProviders, forwarded } from "../combinators/forwarded.js";
import { wrapped } from "../combinators/wrapped.js";
import { readResultTool } from "./read-result-tool.js";
import type { ResultStore } from "./result-store.js";

/** What is offloaded, and where to. */
export type OffloadOptions = {
  readonly store: ResultStore;
  /** Bytes of text in UTF-8 that a result may have in the conversation; what has more goes to the store, and so much of it stays. Default 16 KiB. */
  readonly maxBytes?: number | undefined;
  /** UTF-16 units of one result that are stored; what is longer is cut there, and says so. Default 32 Mi. */
  readonly maxStoredLength?: number | undefined;
  /** What the tool is called that reads them; default `"read_result"`. */
  readonly toolName?: string | undefined;
};

const OPTION_NAMES = [
  "store",
  "maxBytes",
  "maxStoredLength",
  "toolName",
] as const satisfies readonly (keyof OffloadOptions)[];

/** Less would leave little room beside what the model has to be told. */
const LEAST_BYTES = 1024;
const RULES = {
  store: having("write", "read"),
  maxBytes: wholeNumber(LEAST_BYTES),
  maxStoredLength: numberFrom(1),
  toolName: NAME,
};
/** What is told beside the beginning; an id longer than usual makes it a little more. */
const NOTE_BYTES = 384;

/**
 * The same tools, and one that reads the results that were too large for the conversation. Of these the beginning stays, with how to read on. A session
 * reads its own results only. Pictures, files and `details` stay where they are. A result that cannot be stored is cut by the agent instead, as ever.
 */
export function offloadResults(provider: ToolProvider, options: OffloadOptions): ToolProvider {
  checkProviders("offloadResults", [provider]);
  checkFields("offloadResults", options, OPTION_NAMES);
  checkValues("offloadResults", { ...options, store: options.store ?? null }, RULES);
  const { store, maxBytes = 16 * 1024, maxStoredLength = 32 * 1024 * 1024, toolName = "read_result" } = options;
  const settings = { store, maxBytes, maxStoredLength, toolName };
  const offloading = wrapped(provider, async (_call, context, run) => await offloaded(await run(), context, settings));
  const both = composite([offloading, readResultTool(toolName, store, maxBytes)], { name: provider.name });
  return forwarded(both, { optional: provider.optional });
}

type Settings = Required<{ readonly [K in keyof OffloadOptions]: NonNullable<OffloadOptions[K]> }>;

/** What fits is handed on as the tool returned it. */
async function offloaded(returned: ToolReturn, context: ToolContext, settings: Settings): Promise<ToolReturn> {
  const result = normaliseToolReturn(returned);
  const text = textOf(result).toWellFormed();
  const { store, maxBytes, maxStoredLength } = settings;
  if (fitsUtf8(text, maxBytes)) return returned;
  const stored = text.length <= maxStoredLength ? text : text.slice(0, maxStoredLength).toWellFormed();
  const id = context.executionId;
  try {
    await store.write({ sessionId: context.sessionId, id }, stored);
  } catch (error) {
    // Whatever a store says about itself is not for the model.
    if (context.signal.aborted) throw new ToolError("aborted", "the result was not stored in time", { cause: error });
    return {
      ...result,
      content: [{ type: "text", text: "[the result was too large, and could not be stored]\n" }, ...result.content],
    };
  }
  return withoutText(result, shownOf(stored, text.length - stored.length, id, settings));
}

/** All that a result would tell the model, or hold as data. */
function textOf({ content, structured }: ToolResult): string {
  const spoken = contentText(content);
  if (structured === undefined) return spoken;
  const data = JSON.stringify(structured);
  return spoken === "" ? data : `${spoken}\n${data}`;
}

function shownOf(stored: string, lost: number, id: string, { maxBytes, toolName }: Settings): string {
  const cut = lost === 0 ? "" : ` The last ${lost} characters were too many to keep.`;
  const beginning = beginningInUtf8(stored, maxBytes - NOTE_BYTES);
  const offset = [...beginning].length;
  const how = `${toolName} {"id": ${JSON.stringify(id)}, "offset": ${offset}}`;
  return `${beginning}\n[this is the beginning of a large result; read on with ${how}.${cut}]`;
}

function withoutText({ structured: _data, content, ...rest }: ToolResult, text: string): ToolResult {
  return { ...rest, content: [{ type: "text", text }, ...content.filter((part) => part.type !== "text")] };
}
