import { constants, existsSync, realpathSync, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, open, opendir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";

/** Why a file or folder is not shown; the text is meant for the model and names nothing outside the root. */
export class FileRefused extends Error {}

/** An entry of a folder. Links are named and never followed. */
export type FolderEntry = { readonly name: string; readonly kind: "file" | "folder" | "link" | "other" };

/** An open folder: by handle where the platform can reach children through it, else by path. */
type Folder = { readonly path: string; readonly handle?: FileHandle };

// Waiting for a writer of a pipe would hang the turn; a terminal must not become ours.
const OPEN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const HANDLES = "/proc/self/fd";
const DECODER = new TextDecoder("utf-8", { fatal: true });

/**
 * Read access to what lies below one folder. No symbolic link is followed at any step, hidden names (a leading dot) are refused, and
 * only regular files are read. On Linux every step is opened relative to the open handle of the step before it, without following
 * links, so that nothing outside can be reached even when the tree is changed meanwhile. Elsewhere each step is checked, the file is
 * opened without following a link at its end, and it must be the checked one and still lie below the root: someone who swaps
 * folders at the right moment may get past that. Hard links and mounts below the root are taken for what they show.
 */
export class RootedFiles {
  readonly root: string;
  readonly #byHandle: boolean;

  /** Throws when `root` is no folder. `byHandle: false` forces the way of platforms without handle paths. */
  constructor(root: string, options: { readonly byHandle?: boolean } = {}) {
    this.root = realpathSync(root);
    if (!statSync(this.root).isDirectory()) throw new FileRefused("the root is not a folder");
    this.#byHandle = options.byHandle ?? (process.platform === "linux" && existsSync(HANDLES));
  }

  /** At most `limit` entries that are not hidden, sorted by name; `more` when the folder holds others. */
  async list(
    path: string,
    limit: number,
  ): Promise<{ readonly entries: readonly FolderEntry[]; readonly more: boolean }> {
    return this.#inFolder(this.segments(path), (folder) => this.#entries(folder, limit));
  }

  /** Whether a path leads to a folder. */
  async isFolder(path: string): Promise<boolean> {
    const segments = this.segments(path);
    const name = segments.pop();
    return name === undefined || this.#inFolder(segments, async (parent) => (await check(parent, name)).isDirectory());
  }

  /** A whole text file in UTF-8; refused beyond `maxBytes`, when binary, and when it is no regular file. */
  async read(path: string, maxBytes: number): Promise<string> {
    const segments = this.segments(path);
    const name = segments.pop();
    if (name === undefined) throw new FileRefused("a folder cannot be read as a file");
    return this.#inFolder(segments, (folder) => this.#text(folder, name, maxBytes));
  }

  /** The steps from the root to a path, `.` and `..` resolved by name. Refused: outside the root, hidden, NUL. */
  segments(path: string): string[] {
    if (path.includes("\0")) throw new FileRefused("the path holds a NUL character");
    const inside = isAbsolute(path) ? relative(this.root, path) : path;
    if (isAbsolute(inside)) throw new FileRefused("the path leads outside the root folder");
    const segments: string[] = [];
    for (const part of inside.split(sep === "/" ? "/" : /[\\/]/)) {
      if (part === "" || part === ".") continue;
      if (part === "..") {
        if (segments.pop() === undefined) throw new FileRefused("the path leads outside the root folder");
      } else if (part.startsWith(".")) throw new FileRefused("hidden files and folders are not shown");
      else if (sep !== "/" && part.includes(":")) throw new FileRefused("the path holds a colon");
      else segments.push(part);
    }
    return segments;
  }

  async #inFolder<T>(segments: readonly string[], use: (folder: Folder) => Promise<T>): Promise<T> {
    let folder: Folder = { path: this.root };
    if (this.#byHandle) folder = { ...folder, handle: await open(this.root, OPEN | constants.O_DIRECTORY) };
    try {
      for (const name of segments) {
        const next = await this.#enter(folder, name);
        await folder.handle?.close();
        folder = next;
      }
      return await use(folder);
    } catch (error) {
      throw refusal(error);
    } finally {
      await folder.handle?.close();
    }
  }

  async #enter(parent: Folder, name: string): Promise<Folder> {
    const found = await check(parent, name);
    if (!found.isDirectory()) throw new FileRefused("a file is not a folder");
    const path = join(parent.path, name);
    if (parent.handle === undefined) return { path };
    return { path, handle: await openSame(parent, name, found) };
  }

  async #entries(folder: Folder, limit: number): Promise<{ entries: FolderEntry[]; more: boolean }> {
    const entries: FolderEntry[] = [];
    let more = false;
    for await (const entry of await opendir(ownPath(folder))) {
      if (entry.name.startsWith(".")) continue;
      more = entries.length === limit;
      if (more) break;
      const kind = entry.isSymbolicLink() ? "link" : entry.isDirectory() ? "folder" : entry.isFile() ? "file" : "other";
      entries.push({ name: entry.name, kind });
    }
    return { entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)), more };
  }

  async #text(folder: Folder, name: string, maxBytes: number): Promise<string> {
    const found = await check(folder, name);
    if (!found.isFile())
      throw new FileRefused(found.isDirectory() ? "a folder cannot be read as a file" : "this is no regular file");
    const handle = await openSame(folder, name, found);
    try {
      if (folder.handle === undefined) await this.#stillInside(join(folder.path, name));
      return decode(await readAtMost(handle, maxBytes));
    } finally {
      await handle.close();
    }
  }

  async #stillInside(path: string): Promise<void> {
    if ((await realpath(path)) !== path) throw new FileRefused("the file was moved while it was opened");
  }
}

function ownPath(folder: Folder): string {
  return folder.handle === undefined ? folder.path : `${HANDLES}/${folder.handle.fd}`;
}

async function check(parent: Folder, name: string): Promise<Stats> {
  const found = await lstat(join(ownPath(parent), name));
  if (found.isSymbolicLink()) throw new FileRefused("this is a link, and links are not followed");
  return found;
}

/** Opens what `check` saw, or nothing. */
async function openSame(parent: Folder, name: string, seen: Stats): Promise<FileHandle> {
  const handle = await open(join(ownPath(parent), name), OPEN);
  const opened = await handle.stat();
  if (opened.dev === seen.dev && opened.ino === seen.ino) return handle;
  await handle.close();
  throw new FileRefused("the file was replaced while it was opened");
}

async function readAtMost(handle: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const { size } = await handle.stat();
  if (size > maxBytes) throw new FileRefused(`the file has ${size} bytes; at most ${maxBytes} are read`);
  const bytes = new Uint8Array(maxBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) return bytes.subarray(0, length);
    length += bytesRead;
  }
  throw new FileRefused(`the file has more than ${maxBytes} bytes`);
}

function decode(bytes: Uint8Array): string {
  if (bytes.includes(0)) throw new FileRefused("this is a binary file");
  try {
    return DECODER.decode(bytes);
  } catch {
    throw new FileRefused("the file is not UTF-8 text");
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a file is not a folder",
  ELOOP: "this is a link, and links are not followed",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENAMETOOLONG: "the path is too long",
};

/** System errors name paths of this machine: only their meaning is told. */
function refusal(error: unknown): unknown {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? new FileRefused(REASONS[code] ?? `the file system answered ${code}`) : error;
}
