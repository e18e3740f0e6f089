import { SessionError } from "../../domain/errors.js";

/** What is known of an error that is not ours, without secrets and content. */
export type Described = { readonly kind: "load" | "save" | "corrupt"; readonly text: string };

/** The calls of a store on a server: every failure is a `SessionError` that names the store, and none begins after `close`. */
export class StoreCalls {
  readonly #name: string;
  readonly #describe: (error: unknown, kind: "load" | "save") => Described;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** `describe` is asked for errors that are no `SessionError`. */
  constructor(name: string, describe: (error: unknown, kind: "load" | "save") => Described) {
    this.#name = name;
    this.#describe = describe;
  }

  /** `call` is begun at once, so that it can copy what the caller may change as soon as it has its promise. */
  async run<T>(kind: "load" | "save", what: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#closed !== undefined) throw new SessionError(kind, "the store is closed");
      const answer = call();
      this.#underWay.add(answer);
      try {
        return await answer;
      } finally {
        this.#underWay.delete(answer);
      }
    } catch (error) {
      throw this.#failure(kind, what, error);
    }
  }

  /** Idempotent; `release` is called once, when the calls under way have ended. */
  close(release: () => Promise<void>): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(release);
    return this.#closed;
  }

  #failure(kind: "load" | "save", what: string, error: unknown): SessionError {
    const place = `${what} in ${this.#name}`;
    if (error instanceof SessionError) {
      if (error.kind === "conflict") return error;
      return new SessionError(error.kind, `${place}: ${error.message}`, { cause: error });
    }
    const described = this.#describe(error, kind);
    // Errors of drivers carry what was sent, content and passwords included, so none is a cause.
    return new SessionError(described.kind, `${place}: ${described.text}`);
  }
}
