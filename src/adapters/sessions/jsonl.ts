import { CompositionError, SessionError, type SessionErrorKind } from "../../domain/errors.js";
import { isJsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type {
  LoadedSession,
  Revision,
  SaveOptions,
  Session,
  SessionDelta,
  SessionPage,
  SessionQuery,
} from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { type Described, StoreCalls } from "../databases/store-calls.js";
import { type Fsync, JsonlDirectory } from "./jsonl-directory.js";
import { JsonlFile } from "./jsonl-file.js";
import { listSessions } from "./jsonl-list.js";
import { fileNameOf } from "./jsonl-names.js";
import { appendSession, deleteSession, type JsonlSession, loadSession, saveSession } from "./jsonl-session.js";
import { encodeDelta, encodeSession } from "./session-text.js";

/** `fsync` is `always` by default: a write is acknowledged when the device has it. With `never` a power failure may undo the last ones. */
export type JsonlSessionStoreOptions = { readonly directory: string; readonly fsync?: Fsync | undefined };

/** What is remembered of so many sessions, so that an append reads only what others have written. */
const REMEMBERED = 1_000;

function checkedOptions(options: unknown): JsonlSessionStoreOptions {
  const given = isJsonObject(options) ? options : {};
  const { directory, fsync } = given;
  if (typeof directory !== "string" || directory === "") {
    throw new CompositionError(
      "invalid-config",
      "a JSONL session store needs { directory } with the path of its directory",
    );
  }
  checkFields("a JSONL session store", options, ["directory", "fsync"]);
  if (fsync !== undefined && fsync !== "always" && fsync !== "never") {
    throw new CompositionError("invalid-config", 'fsync is "always" or "never"');
  }
  return { directory, fsync };
}

/**
 * Sessions in a directory of text files, one a session, which many processes on one machine may use at once. A record is a line of JSON and is
 * only ever added; what a killed writer leaves of one harms no other. The directory is made by the first call where it is missing, its
 * files can be read by their owner alone. Whoever made the store closes it.
 */
export class JsonlSessionStore implements SessionStore {
  readonly name: string;
  readonly #calls: StoreCalls<SessionErrorKind>;
  readonly #directory: JsonlDirectory;
  /** Oldest use first. */
  readonly #files = new Map<string, JsonlFile>();

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: JsonlSessionStoreOptions) {
    const { directory, fsync = "always" } = checkedOptions(options);
    this.name = `jsonl "${safeLabel(directory)}"`;
    this.#calls = new StoreCalls(SessionError, this.name, describe);
    this.#directory = new JsonlDirectory(directory, fsync);
  }

  load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#calls.run("load", sessionLabel(id), () => loadSession(this.#session(id), known));
  }

  save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#calls.run("save", sessionLabel(id), async () => {
      const encoded = encodeSession(session);
      return saveSession(this.#session(id), { ...session }, { ...options }, encoded);
    });
  }

  append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#calls.run("save", sessionLabel(id), async () => {
      const encoded = encodeDelta(delta);
      return appendSession(this.#session(id), { ...delta }, encoded);
    });
  }

  list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#calls.run("load", "the list of sessions", () =>
      listSessions(this.#directory, { ...query }, (name) => this.#file(name)),
    );
  }

  delete(id: string): Promise<void> {
    return this.#calls.run("save", sessionLabel(id), () => deleteSession(this.#session(id)));
  }

  /** Idempotent; waits for the calls under way. Calls made afterwards reject. */
  close(): Promise<void> {
    return this.#calls.close(async () => this.#files.clear());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #session(id: string): JsonlSession {
    return { file: this.#file(fileNameOf(id)), directory: this.#directory, id };
  }

  #file(name: string): JsonlFile {
    const file = this.#files.get(name) ?? new JsonlFile(this.#directory, name);
    this.#files.delete(name);
    this.#files.set(name, file);
    const [oldest] = this.#files.keys();
    if (this.#files.size > REMEMBERED && oldest !== undefined) this.#files.delete(oldest);
    return file;
  }
}

/** The operating system's own words name the path, and nothing that was to be stored. */
function describe(error: unknown, kind: SessionErrorKind): Described<SessionErrorKind> {
  const { code, syscall } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return {
    kind,
    text: typeof code === "string" ? `${syscall ?? "call"} failed with ${code}` : safeLabel(String(error)),
  };
}
