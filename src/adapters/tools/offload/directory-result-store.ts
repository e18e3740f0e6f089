import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CompositionError } from "../../../domain/errors.js";
import { checkValues, NAME, numberFrom } from "../../../domain/check-values.js";
import { checkFields } from "../../../domain/known-fields.js";
import { pageOf } from "./page-of.js";
import type { ResultKey, ResultPage, ResultStore } from "./result-store.js";

/** Where results are kept, and how much of a session's. */
export type DirectoryResultStoreOptions = {
  /** Made when it is needed. Nothing else may be in it. */
  readonly path: string;
  /** Bytes of one session's results together; beyond it the oldest go. Default 256 MiB. */
  readonly maxSessionBytes?: number | undefined;
};

/**
 * Keeps results as files that only their owner may read: a directory for each session, both named by hashes, so that no id ever is a path. A file is
 * written whole or not at all. `removeSession` is for whoever deletes the session.
 */
export class DirectoryResultStore implements ResultStore {
  readonly #path: string;
  readonly #maxSessionBytes: number;

  constructor(options: DirectoryResultStoreOptions) {
    checkFields("DirectoryResultStore", options, ["path", "maxSessionBytes"]);
    checkValues("DirectoryResultStore", options, { path: NAME, maxSessionBytes: numberFrom(1) });
    const { path, maxSessionBytes = 256 * 1024 * 1024 } = options;
    if (path === undefined) throw new CompositionError("invalid-config", "DirectoryResultStore needs a path");
    this.#path = path;
    this.#maxSessionBytes = maxSessionBytes;
  }

  async write({ sessionId, id }: ResultKey, text: string): Promise<void> {
    const folder = this.#folder(sessionId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = hashOf(id);
    const unfinished = join(folder, `${name}.${randomUUID()}.part`);
    try {
      const file = await open(unfinished, "wx", 0o600);
      try {
        await file.writeFile(text, "utf8");
      } finally {
        await file.close();
      }
      await rename(unfinished, join(folder, name));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    await this.#makeRoom(folder, name);
  }

  async read(
    { sessionId, id }: ResultKey,
    range: { readonly offset: number; readonly limit: number },
  ): Promise<ResultPage | undefined> {
    try {
      return pageOf(await readFile(join(this.#folder(sessionId), hashOf(id)), "utf8"), range);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Removes all results of a session; nothing to remove is fine. */
  async removeSession(sessionId: string): Promise<void> {
    await rm(this.#folder(sessionId), { recursive: true, force: true });
  }

  #folder(sessionId: string): string {
    return join(this.#path, hashOf(sessionId));
  }

  async #makeRoom(folder: string, newest: string): Promise<void> {
    const files = await filesIn(folder);
    let bytes = files.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of files.sort((a, b) => a.writtenAt - b.writtenAt)) {
      if (bytes <= this.#maxSessionBytes) return;
      if (name === newest) continue;
      await rm(join(folder, name), { force: true });
      bytes -= size;
    }
  }
}

type StoredFile = { readonly name: string; readonly size: number; readonly writtenAt: number };

/** Another process may remove one meanwhile. */
async function filesIn(folder: string): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (const name of await readdir(folder)) {
    try {
      const { size, mtimeMs } = await stat(join(folder, name));
      found.push({ name, size, writtenAt: mtimeMs });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return found;
}

function hashOf(text: string): string {
  // As JSON, which writes out halves of a pair: no two texts become one.
  return createHash("sha256").update(JSON.stringify(text)).digest("hex");
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, "code") === "ENOENT";
}
