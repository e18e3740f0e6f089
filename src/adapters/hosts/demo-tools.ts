import { safeLabel } from "../../domain/safe-label.js";
import { errorResult, type ToolResult } from "../../domain/tool.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import { defineTool, Type } from "../tools/index.js";
import { ArithmeticError, evaluate, numberText } from "./arithmetic.js";
import { FileRefused, RootedFiles } from "./rooted-files.js";
import { searchText } from "./text-search.js";

/** Where the tools look, and their clock. */
export type DemoToolsOptions = {
  /** Nothing outside this folder is read. */
  readonly root: string;
  /** Epoch milliseconds; default the system's. */
  readonly now?: (() => number) | undefined;
};

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_LINES = 400;
const MAX_ENTRIES = 500;
const READ_ONLY = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/**
 * Tools over the real world that only read: list a folder, read a file, search text, do sums, tell the time. What they may see of the
 * file system is in `RootedFiles`; every answer is bounded. Throws when the root is no folder.
 */
export function demoTools({ root, now = Date.now }: DemoToolsOptions): readonly ToolProvider[] {
  const files = new RootedFiles(root);
  return [listFiles(files), readFile(files), search(files), calculate(), currentTime(now)];
}

function listFiles(files: RootedFiles): ToolProvider {
  return defineTool({
    name: "list_files",
    description: "List the files and folders in a folder. Folders end in a slash.",
    parameters: Type.Object({
      path: Type.String({ description: "Folder, relative to the root", default: "." }),
    }),
    annotations: READ_ONLY,
    execute: ({ path }) =>
      answer(async () => {
        const { entries, more } = await files.list(path, MAX_ENTRIES);
        const lines = entries.map(({ name, kind }) => visible(name) + SUFFIX[kind]);
        if (more) lines.push(`(more than ${MAX_ENTRIES}: the others are left out)`);
        return lines.length === 0 ? "(empty)" : lines.join("\n");
      }),
  });
}

const SUFFIX = { file: "", folder: "/", link: " (link, not followed)", other: " (no regular file)" } as const;

function readFile(files: RootedFiles): ToolProvider {
  return defineTool({
    name: "read_file",
    description: `Read a text file, at most ${MAX_LINES} lines at a time.`,
    parameters: Type.Object({
      path: Type.String({ description: "File, relative to the root" }),
      firstLine: Type.Integer({ description: "Line to begin with, from 1", minimum: 1, default: 1 }),
    }),
    annotations: READ_ONLY,
    execute: ({ path, firstLine }) =>
      answer(async () => {
        const lines = (await files.read(path, MAX_FILE_BYTES)).split(/\r?\n/);
        const shown = lines.slice(firstLine - 1, firstLine - 1 + MAX_LINES);
        const last = firstLine - 1 + shown.length;
        if (shown.length === 0) return `(the file has ${lines.length} lines)`;
        const rest = last < lines.length ? `\n(${lines.length - last} more lines follow line ${last})` : "";
        return shown.join("\n") + rest;
      }),
  });
}

function search(files: RootedFiles): ToolProvider {
  return defineTool({
    name: "search_text",
    description: "Find the lines that hold a text, word for word, in all text files below a folder.",
    parameters: Type.Object({
      text: Type.String({ description: "Text to find, within one line; not a pattern", minLength: 1, maxLength: 200 }),
      path: Type.String({ description: "Folder to search, relative to the root", default: "." }),
      ignoreCase: Type.Boolean({ default: false }),
    }),
    annotations: READ_ONLY,
    execute: ({ text, path, ignoreCase }, { signal }) =>
      answer(() => searchText(files, { text, path, ignoreCase, signal, visible })),
  });
}

function calculate(): ToolProvider {
  return defineTool({
    name: "calculate",
    description: "Do arithmetic with numbers, + - * / % ^ and parentheses.",
    parameters: Type.Object({ expression: Type.String({ description: "For example (2 + 3) * 4", maxLength: 500 }) }),
    annotations: READ_ONLY,
    execute: ({ expression }) => answer(() => numberText(evaluate(expression))),
  });
}

function currentTime(now: () => number): ToolProvider {
  return defineTool({
    name: "current_time",
    description: "Tell the current date and time.",
    parameters: Type.Object({
      timeZone: Type.String({ description: "IANA name, such as Europe/Paris", default: "UTC" }),
    }),
    annotations: { ...READ_ONLY, idempotentHint: false },
    execute: ({ timeZone }) => answer(() => timeText(now(), timeZone)),
  });
}

function timeText(at: number, timeZone: string): string | ToolResult {
  try {
    const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", timeZone });
    return `${format.format(at)} (${new Date(at).toISOString()})`;
  } catch {
    return errorResult(`there is no time zone "${safeLabel(timeZone)}"`);
  }
}

/** What the tool can tell the model is a result; anything else is a failure of the tool and goes on. */
async function answer(run: () => Promise<string> | string | ToolResult): Promise<string | ToolResult> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof FileRefused || error instanceof ArithmeticError) return errorResult(error.message);
    throw error;
  }
}

/** A file name on one line, whatever it holds. */
function visible(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (unit) => `\\u{${(unit.codePointAt(0) ?? 0).toString(16)}}`)
    .toWellFormed();
}
