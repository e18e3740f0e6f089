import { createHash } from "node:crypto";
import type { SessionErrorKind } from "../../domain/errors.js";
import { missingPackage } from "../../domain/missing-package.js";
import { safeLabel } from "../../domain/safe-label.js";
import { SCRIPTS, type Scripts } from "./redis-scripts.js";
import type { Described } from "../databases/store-calls.js";
import { NoAnswer, within } from "../databases/within.js";

/** What the store uses of an `ioredis` client or cluster: scripts, with their keys and arguments in one list. */
export interface RedisClient {
  evalsha(hash: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
}

/** The name of a script of the store. */
export type ScriptName = keyof Scripts;

const HASHES = new Map<string, string>();

/** Servers know a script they have run by this hash, until they are restarted. */
function hashOf(script: string): string {
  let hash = HASHES.get(script);
  if (hash === undefined) {
    hash = createHash("sha1").update(script).digest("hex");
    HASHES.set(script, hash);
  }
  return hash;
}

type OwnClient = RedisClient & { readonly status: string; quit(): Promise<unknown>; disconnect(): void };

/** Runs the scripts of the store. Each call on the network is bounded by `timeoutMs`. */
export class RedisConnection {
  readonly #url: string | undefined;
  readonly #timeoutMs: number;
  readonly #scripts: Scripts;
  #client: Promise<RedisClient> | undefined;
  #own: OwnClient | undefined;
  /** Why the connection was last lost or not made; the error of a call does not say. */
  #lost = "";

  /** A client that is given is the caller's to close; one made of a URL is made by the first call. */
  constructor(
    source: { readonly url: string } | { readonly client: RedisClient },
    timeoutMs: number,
    scripts: Scripts = SCRIPTS,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#scripts = scripts;
    if ("client" in source) this.#client = Promise.resolve(source.client);
    this.#url = "url" in source ? source.url : undefined;
  }

  /** Rejects with what `ioredis` rejects with, or `NoAnswer`. */
  async run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    this.#client ??= this.#open();
    const client = await this.#client;
    const script = this.#scripts[name];
    const list = (): string[] => [...keys, ...args];
    try {
      return await this.#answer(client, client.evalsha(hashOf(script), keys.length, list()));
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
      return this.#answer(client, client.eval(script, keys.length, list()));
    }
  }

  /** Closes the client if it is our own, after the calls under way. */
  async close(): Promise<void> {
    await this.#client?.catch(() => undefined);
    const own = this.#own;
    if (own === undefined) return;
    try {
      if (own.status === "ready") await within(this.#timeoutMs, own.quit());
    } catch {
      // What does not answer is cut off.
    } finally {
      own.disconnect();
    }
  }

  /** The kind and text for an error that is not ours: its message alone, for the error itself carries the arguments of the command. */
  describe(error: unknown, kind: SessionErrorKind): Described<SessionErrorKind> {
    const message = messageOf(error);
    if (message.includes("WRONGTYPE")) return { kind: "corrupt", text: "a key has another type" };
    if (error instanceof Error && error.name === "MaxRetriesPerRequestError") {
      return { kind, text: safeLabel(this.#lost === "" ? "the connection was lost" : this.#lost) };
    }
    return { kind, text: message === "" ? "the connection failed" : safeLabel(message) };
  }

  async #answer(client: RedisClient, call: Promise<unknown>): Promise<unknown> {
    try {
      return await within(this.#timeoutMs, call);
    } catch (error) {
      if (error instanceof NoAnswer) this.#abandon(client);
      throw error;
    }
  }

  /** Whatever is sent on a silent connection waits behind what had no answer; the next call makes another. */
  #abandon(client: RedisClient): void {
    if (this.#own === undefined || this.#own !== client) return;
    this.#own.disconnect();
    this.#own = undefined;
    this.#client = undefined;
  }

  async #open(): Promise<RedisClient> {
    const { Redis } = await import("ioredis").catch((cause: unknown) => {
      throw missingPackage("ioredis", cause);
    });
    const client = new Redis(this.#url ?? "", {
      lazyConnect: true,
      connectTimeout: this.#timeoutMs,
      // A call fails with its connection, and is not sent again behind the back of a caller who was told so.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (times) => Math.min(times * 50, 500),
    });
    // The calls reject themselves; without a listener the client would print.
    client.on("error", (error: Error) => {
      this.#lost = error.message;
    });
    this.#own = client;
    return client;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
