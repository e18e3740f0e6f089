import { createHash } from "node:crypto";
import { safeLabel } from "../../domain/safe-label.js";
import { SCRIPTS } from "./redis-scripts.js";
import { within } from "./within.js";

/** What the store uses of an `ioredis` client or cluster: scripts, with their keys and arguments in one list. */
export interface RedisClient {
  evalsha(hash: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, keysAndArguments: string[]): Promise<unknown>;
}

/** The name of a script of the store. */
export type ScriptName = keyof typeof SCRIPTS;

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
  #client: Promise<RedisClient> | undefined;
  #own: OwnClient | undefined;

  /** A client that is given is the caller's to close; one made of a URL is made by the first call. */
  constructor(source: { readonly url: string } | { readonly client: RedisClient }, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    if ("client" in source) this.#client = Promise.resolve(source.client);
    this.#url = "url" in source ? source.url : undefined;
  }

  /** Rejects with what `ioredis` rejects with, or `NoAnswer`. */
  async run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    this.#client ??= this.#open();
    const client = await this.#client;
    const script = SCRIPTS[name];
    try {
      return await within(this.#timeoutMs, client.evalsha(hashOf(script), keys.length, [...keys, ...args]));
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
      return within(this.#timeoutMs, client.eval(script, keys.length, [...keys, ...args]));
    }
  }

  /** Closes the client if it is our own, after the calls under way. */
  async close(): Promise<void> {
    await this.#client?.catch(() => undefined);
    if (this.#own === undefined) return;
    try {
      if (this.#own.status === "ready") await within(this.#timeoutMs, this.#own.quit());
    } catch {
      // What does not answer is cut off.
    } finally {
      this.#own.disconnect();
    }
  }

  async #open(): Promise<RedisClient> {
    const { Redis } = await import("ioredis");
    const client = new Redis(this.#url ?? "", {
      lazyConnect: true,
      connectTimeout: this.#timeoutMs,
      // A connection that says nothing is replaced, else every call would wait for it.
      socketTimeout: this.#timeoutMs,
      // A call fails with its connection, and is not sent again behind the back of a caller who was told so.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (times) => Math.min(times * 50, 500),
    });
    // The calls reject themselves; without a listener the client would print.
    client.on("error", () => {});
    this.#own = client;
    return client;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

/** The kind and text for an error that is not ours: its message alone, for the error itself carries the arguments of the command. */
export function describeFailure(error: unknown, kind: "load" | "save") {
  const message = messageOf(error);
  if (message.includes("WRONGTYPE")) return { kind: "corrupt" as const, text: "a key has another type" };
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  return { kind, text: safeLabel(message === "" ? cause || "the connection failed" : message) };
}
