import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { JsonlSessionStore, type JsonlSessionStoreOptions } from "../../../src/adapters/sessions/jsonl.js";
import { fileNameOf } from "../../../src/adapters/sessions/jsonl-names.js";
import type { SessionStoreFixture } from "../../../src/testkit/claims/index.js";
import { temporaryDirectory } from "./sqlite-fixture.js";

export type JsonlFixture = AsyncDisposable &
  Omit<SessionStoreFixture, "reopen"> & {
    readonly store: JsonlSessionStore;
    readonly directory: string;
    /** The path of a session's file. */
    fileOf(id: string): string;
    /** Its lines, without the end of the last one. */
    linesOf(id: string): string[];
    reopen(): JsonlSessionStore;
  };

/** A store in a directory of its own, which is alone in a temporary one; with a second one on demand. */
export function jsonlFixture(options: Omit<JsonlSessionStoreOptions, "directory"> = {}): JsonlFixture {
  const temporary = temporaryDirectory();
  const directory = join(temporary.path, "store");
  const open = (): JsonlSessionStore => new JsonlSessionStore({ fsync: "never", ...options, directory });
  const store = open();
  const opened = [store];
  const fileOf = (id: string): string => join(directory, `${fileNameOf(id)}.jsonl`);
  return {
    store,
    directory,
    fileOf,
    linesOf: (id) => (existsSync(fileOf(id)) ? readFileSync(fileOf(id), "utf8").split("\n").slice(0, -1) : []),
    damage: (id) => {
      const text = readFileSync(fileOf(id), "utf8");
      const at = text.lastIndexOf('"role":"user"');
      writeFileSync(fileOf(id), `${text.slice(0, at)}"r0le"${text.slice(at + 6)}`);
    },
    reopen: () => {
      const again = open();
      opened.push(again);
      return again;
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one.close();
      temporary[Symbol.dispose]();
    },
  };
}
