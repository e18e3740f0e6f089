import { randomBytes } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { SessionError } from "../../domain/errors.js";
import type { JsonlDirectory } from "./jsonl-directory.js";
import { type Entry, moveMembers } from "./jsonl-entry.js";
import { encodeLine } from "./jsonl-line.js";
import { JsonlLog } from "./jsonl-log.js";
import { bytesAt } from "./jsonl-reading.js";

/** More than any number of writers can make one lose: each loss is another's success. */
const ATTEMPTS = 1_000;

/** What a call on a file answers to be made again on the file as it is then. */
export const AGAIN = Symbol("again");

/** The file as a call finds it; without a handle there is none yet. */
export type OpenFile = { readonly handle: FileHandle | undefined; readonly log: JsonlLog };

/** A record to append: what it says, and its members as text. */
export type NewEntry = { readonly entry: Entry; readonly members: string };

/**
 * The file of a session, shared with other processes without a lock. A record is written with one call that appends, and counts where it
 * follows what its writer had read; else another was faster, and the call is made again. A file is replaced by one that is whole before the
 * old one's last record names it: whoever finds that record puts the new file in place, of whose name there is never a second, so no old
 * state can come back. Calls are made one after the other.
 */
export class JsonlFile {
  readonly name: string;
  readonly #directory: JsonlDirectory;
  #log: JsonlLog | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** `name` is that of the file, without its ending. */
  constructor(directory: JsonlDirectory, name: string) {
    this.#directory = directory;
    this.name = name;
  }

  /** `call` gets the file read to its end; `whole` has all of it read anew, and damage read over where that is asked for. */
  run<T>(
    mode: "read" | "write",
    call: (file: OpenFile) => Promise<T | typeof AGAIN>,
    whole?: (handle: FileHandle, size: number) => Promise<JsonlLog>,
  ): Promise<T> {
    const answer = this.#last.then(() => this.#run(mode, call, whole));
    // Without what it answers, which may be a whole session.
    this.#last = answer.then(
      () => {},
      () => {},
    );
    return answer;
  }

  /** Appends; false where another writer was faster and the record does not count. */
  async append({ handle, log }: OpenFile, { entry, members }: NewEntry): Promise<boolean> {
    const target = handle ?? (await this.#create());
    try {
      const { text, sum } = encodeLine(members);
      const start = log.size + (log.ragged ? 1 : 0);
      const first = log.number === 0;
      const { size, alone, isGone } = await this.#write(target, log, text);
      // Alone in a file that is gone: nobody will read it.
      if (alone && isGone) return false;
      this.#log = undefined;
      if (alone) log.wrote(entry, sum, start, size);
      else if (!(await log.read(target, size, { watch: sum }))) return false;
      this.#log = log;
      await this.#settle(target, first);
      return true;
    } finally {
      if (handle === undefined) await target.close();
    }
  }

  /** Resolves when the device has what was read of the file, whoever wrote it. */
  async settle({ handle, log }: OpenFile): Promise<void> {
    if (handle !== undefined) await this.#settle(handle, log.number === 1);
  }

  async #settle(handle: FileHandle, isFirst: boolean): Promise<void> {
    await this.#directory.sync(handle);
    if (isFirst) await this.#directory.syncNames();
  }

  /** Puts a new file in the place of this one; false where another writer was faster and nothing has changed. */
  async replace({ handle, log }: OpenFile, content: Iterable<string>): Promise<boolean> {
    const target = handle ?? (await this.#create());
    const to = `${log.generation + 1}-${randomBytes(8).toString("hex")}`;
    try {
      const isNamed = await this.#prepared(to, content, () => this.#name(target, log, to));
      if (!isNamed) return false;
      this.#log = undefined;
      await this.#directory.sync(target);
      await this.#install(to);
      await this.#sweep(log.generation + 1);
      return true;
    } finally {
      if (handle === undefined) await target.close();
    }
  }

  async #run<T>(
    mode: "read" | "write",
    call: (file: OpenFile) => Promise<T | typeof AGAIN>,
    whole: ((handle: FileHandle, size: number) => Promise<JsonlLog>) | undefined,
  ): Promise<T> {
    let missing: string | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // Writers that fall into step would go on disturbing one another.
      if (attempt > 2) await pause(Math.random() * Math.min(attempt, 20));
      const handle = await this.#directory.open(`${this.name}.jsonl`, mode);
      try {
        const log = await this.#read(handle, whole);
        const { movedTo } = log;
        if (movedTo === undefined) {
          const answer = await call({ handle, log });
          if (answer !== AGAIN) return answer;
        } else if (movedTo === missing) {
          throw new SessionError("corrupt", `file ${this.#continuation(movedTo)} is missing`);
        } else if (!(await this.#install(movedTo))) missing = movedTo;
      } finally {
        await handle?.close();
      }
    }
    throw new SessionError("save", "the file is never as it was left: does its file system append in one step?");
  }

  async #read(
    handle: FileHandle | undefined,
    whole: ((handle: FileHandle, size: number) => Promise<JsonlLog>) | undefined,
  ): Promise<JsonlLog> {
    const known = this.#log;
    // Nothing is known any more when the reading fails.
    this.#log = undefined;
    if (handle === undefined) return new JsonlLog(this.name);
    const { size } = await handle.stat();
    const log = whole === undefined ? await this.#readOn(known, handle, size) : await whole(handle, size);
    if (!log.isSalvaged) this.#log = log;
    return log;
  }

  async #readOn(known: JsonlLog | undefined, handle: FileHandle, size: number): Promise<JsonlLog> {
    const log = known !== undefined && (await known.isOf(handle, size)) ? known : new JsonlLog(this.name);
    await log.read(handle, size);
    return log;
  }

  async #create(): Promise<FileHandle> {
    const handle = await this.#directory.open(`${this.name}.jsonl`, "create");
    if (handle === undefined) throw new SessionError("save", "the file cannot be made");
    return handle;
  }

  /**
   * One write, which the operating system does not mix with another's; what a full disk leaves of it is no record. `alone` where nobody else has
   * written, `isGone` where the file has no name any more, which says nothing of what came first.
   */
  async #write(
    handle: FileHandle,
    log: JsonlLog,
    text: string,
  ): Promise<{ size: number; alone: boolean; isGone: boolean }> {
    const bytes = Buffer.from(`${log.ragged ? "\n" : ""}${text}\n`);
    const { bytesWritten } = await handle.write(bytes, 0, bytes.length, null);
    if (bytesWritten !== bytes.length) throw new SessionError("save", "there was room for a part of the record only");
    const { size, nlink } = await handle.stat();
    return { size, alone: size === log.size + bytes.length, isGone: nlink === 0 };
  }

  /** Writes the new file, and removes it again where it is certain that nothing names it. */
  async #prepared(to: string, content: Iterable<string>, name: () => Promise<boolean>): Promise<boolean> {
    const file = this.#continuation(to);
    try {
      await this.#directory.write(file, content);
      await this.#directory.syncNames();
    } catch (error) {
      await this.#directory.remove(file);
      throw error;
    }
    // Where this fails the file may have been named all the same, so it has to stay.
    const isNamed = await name();
    if (!isNamed) await this.#directory.remove(file);
    return isNamed;
  }

  /**
   * Writes the last record of the file. It counts only where it stands, and that is told by the bytes there: not by the file being gone, as
   * whoever reads the record may have put the new file in place already.
   */
  async #name(handle: FileHandle, log: JsonlLog, to: string): Promise<boolean> {
    const from = log.size + (log.ragged ? 1 : 0);
    const { text } = encodeLine(moveMembers({ from, to }));
    await this.#write(handle, log, text);
    const stored = await bytesAt(handle, from, Buffer.byteLength(text));
    return stored.toString() === text;
  }

  /** False where it is not there: in place already, or lost. */
  #install(to: string): Promise<boolean> {
    return this.#directory.rename(this.#continuation(to), `${this.name}.jsonl`);
  }

  /** Removes what killed writers had prepared for generations that are over: no file that could name it is written to any more. */
  async #sweep(generation: number): Promise<void> {
    const prefix = `${this.name}.jsonl.`;
    for (const file of await this.#directory.files()) {
      const [, prepared] =
        /^(\d+)-[0-9a-f]{16}\.new$/.exec(file.startsWith(prefix) ? file.slice(prefix.length) : "") ?? [];
      if (prepared !== undefined && Number(prepared) <= generation) await this.#directory.remove(file);
    }
  }

  #continuation(to: string): string {
    return `${this.name}.jsonl.${to}.new`;
  }
}
