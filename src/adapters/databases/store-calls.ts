import { type EnneadError } from "../../domain/errors.js";

/** What is known of an error that is not ours, without secrets and content. */
export type Described<Kind extends string = string> = { readonly kind: Kind; readonly text: string };

/** The typed error of a port. */
export type StoreError<Kind extends string> = new (
  kind: Kind,
  message: string,
  options?: { readonly cause?: unknown },
) => EnneadError<Kind>;

/** The calls of a store on a server: every failure is the error of its port and names the store, and none begins after `close`. */
export class StoreCalls<Kind extends string> {
  readonly #error: StoreError<Kind>;
  readonly #name: string;
  readonly #describe: (error: unknown, kind: Kind) => Described<Kind>;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** `describe` is asked for errors that are none of the port. */
  constructor(error: StoreError<Kind>, name: string, describe: (error: unknown, kind: Kind) => Described<Kind>) {
    this.#error = error;
    this.#name = name;
    this.#describe = describe;
  }

  /** `call` is begun at once, so that it can copy what the caller may change as soon as it has its promise. */
  async run<T>(kind: Kind, what: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#closed !== undefined) throw new this.#error(kind, "the store is closed");
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

  #failure(kind: Kind, what: string, error: unknown): EnneadError<Kind> {
    const place = `${what} in ${this.#name}`;
    if (error instanceof this.#error) {
      if (error.kind === "conflict") return error;
      return new this.#error(error.kind, `${place}: ${error.message}`, { cause: error });
    }
    const described = this.#describe(error, kind);
    // Errors of drivers carry what was sent, content and passwords included, so none is a cause.
    return new this.#error(described.kind, `${place}: ${described.text}`);
  }
}
