import { constants, type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** When a write is acknowledged: `always` after the device has it, `never` when the operating system has it, which a power failure may undo. */
export type Fsync = "always" | "never";

/** A link in the place of a file would lead out of the directory; Windows has no such flag. */
const NO_LINKS: number = (constants as { readonly O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0;

const FLAGS = {
  read: constants.O_RDONLY | NO_LINKS,
  write: constants.O_RDWR | constants.O_APPEND | NO_LINKS,
  create: constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | NO_LINKS,
} as const;

/** The directory of a store. Files in it are readable by their owner alone; what its methods reject with are errors of `node:fs`. */
export class JsonlDirectory {
  readonly #path: string;
  readonly #fsync: Fsync;
  #made: Promise<unknown> | undefined;
  #lastAt = 0;

  constructor(path: string, fsync: Fsync) {
    this.#path = path;
    this.#fsync = fsync;
  }

  /** Undefined for a file that is missing, unless it is to be created. A missing directory is made once, and missed afterwards. */
  async open(file: string, mode: keyof typeof FLAGS): Promise<FileHandle | undefined> {
    await this.#make();
    try {
      return await open(join(this.#path, file), FLAGS[mode], 0o600);
    } catch (error) {
      if (!isMissing(error) || mode === "create") throw error;
      // A directory that went away took its sessions along; they are not new ones.
      await stat(this.#path);
      return undefined;
    }
  }

  /** Writes a file that must not be there yet, on the device with its whole content. */
  async write(file: string, content: Iterable<string>): Promise<void> {
    const handle = await open(join(this.#path, file), "wx", 0o600);
    try {
      await handle.writeFile(content);
      await this.sync(handle);
    } finally {
      await handle.close();
    }
  }

  /** False where `from` is not there, or no longer. */
  async rename(from: string, to: string): Promise<boolean> {
    try {
      await rename(join(this.#path, from), join(this.#path, to));
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    await this.syncNames();
    return true;
  }

  async remove(file: string): Promise<void> {
    await rm(join(this.#path, file), { force: true });
  }

  async files(): Promise<readonly string[]> {
    await this.#make();
    return readdir(this.#path);
  }

  /** Epoch milliseconds of the last change of what stands there, a link included; undefined where nothing does. */
  async changedAt(file: string): Promise<number | undefined> {
    try {
      return (await lstat(join(this.#path, file))).mtimeMs;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async sync(handle: FileHandle): Promise<void> {
    if (this.#fsync === "always") await handle.datasync();
  }

  /** Makes names that were added or changed survive a power failure, where the platform can open a directory. */
  async syncNames(): Promise<void> {
    if (this.#fsync === "never" || process.platform === "win32") return;
    const handle = await open(this.#path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** The stamp of the next write: past that of every write of this store and past `last`, whatever the clock does. */
  stamp(last: number): number {
    this.#lastAt = Math.max(Date.now() * 100, this.#lastAt + 1, last + 1);
    return this.#lastAt;
  }

  async #make(): Promise<void> {
    this.#made ??= mkdir(this.#path, { recursive: true, mode: 0o700 });
    try {
      await this.#made;
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
  }
}

/** What a directory, a link, or a file that may not be read answers in the place of a session's file. Too many open files are no such thing. */
const UNREADABLE = new Set<unknown>(["EISDIR", "ELOOP", "EMLINK", "EACCES", "EPERM", "EIO"]);

/** True for an error that concerns this one file, and says nothing of the others. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Error && "code" in error && UNREADABLE.has(error.code);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
