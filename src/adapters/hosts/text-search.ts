import { FileRefused, type RootedFiles } from "./rooted-files.js";

/** What to look for. `visible` makes one harmless line of a file name. */
export type TextSearch = {
  readonly text: string;
  readonly path: string;
  readonly ignoreCase: boolean;
  readonly signal: AbortSignal;
  readonly visible: (name: string) => string;
};

const MAX_MATCHES = 50;
const MAX_FILES = 2_000;
const MAX_DEPTH = 20;
const MAX_ENTRIES = 2_000;
const MAX_FILE_BYTES = 512 * 1024;
const MAX_LINE = 200;
/** Others' code, not the user's words. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules"]);

/**
 * The lines below a folder, or of a file, that hold the text literally, as `path:line: text`, folder by folder in the order of names. Says
 * when a limit cut the search short and how many files it could not read. Rejects with the signal's reason when aborted.
 */
export async function searchText(files: RootedFiles, search: TextSearch): Promise<string> {
  if (/[\r\n]/.test(search.text)) throw new FileRefused("the text must lie within one line");
  const state: Found = { lines: [], read: 0, unread: 0, cut: false };
  const start = files.segments(search.path).join("/");
  if (await files.isFolder(start)) await searchFolder(files, search, start, 0, state);
  else await searchFile(files, search, start, state, { named: true });
  const notes: string[] = [];
  if (state.cut) notes.push("a limit cut the search short: look in a smaller folder");
  if (state.unread > 0) notes.push(`${state.unread} files are too large or no text`);
  const result = state.lines.length === 0 ? `no line in ${state.read} files` : state.lines.join("\n");
  return notes.length === 0 ? result : `${result}\n(${notes.join("; ")})`;
}

type Found = { readonly lines: string[]; read: number; unread: number; cut: boolean };

async function searchFolder(
  files: RootedFiles,
  search: TextSearch,
  folder: string,
  depth: number,
  found: Found,
): Promise<void> {
  const { entries, more } = await files.list(folder, MAX_ENTRIES);
  if (more) found.cut = true;
  for (const { name, kind } of entries) {
    search.signal.throwIfAborted();
    if (found.read + found.unread >= MAX_FILES || found.lines.length >= MAX_MATCHES) {
      found.cut = true;
      return;
    }
    const path = folder === "" ? name : `${folder}/${name}`;
    if (kind === "file") await searchFile(files, search, path, found, { named: false });
    if (kind !== "folder" || SKIPPED.has(name)) continue;
    if (depth < MAX_DEPTH) await searchFolder(files, search, path, depth + 1, found);
    else found.cut = true;
  }
}

async function searchFile(
  files: RootedFiles,
  search: TextSearch,
  path: string,
  found: Found,
  { named }: { readonly named: boolean },
): Promise<void> {
  let text: string;
  try {
    text = await files.read(path, MAX_FILE_BYTES);
  } catch (error) {
    if (named || !(error instanceof FileRefused)) throw error;
    found.unread += 1;
    return;
  }
  found.read += 1;
  const fold = (value: string): string => (search.ignoreCase ? value.toLowerCase() : value);
  const wanted = fold(search.text);
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (!fold(line).includes(wanted)) continue;
    if (found.lines.length >= MAX_MATCHES) {
      found.cut = true;
      return;
    }
    found.lines.push(`${search.visible(path)}:${index + 1}: ${shorten(line.trim())}`);
  }
}

function shorten(line: string): string {
  return line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE).toWellFormed()}…`;
}
