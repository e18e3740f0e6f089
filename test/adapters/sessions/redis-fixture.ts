import { Redis } from "ioredis";
import { RedisSessionStore } from "../../../src/adapters/sessions/redis.js";
import { textKey } from "../../../src/domain/text-key.js";
import type { SessionStoreFixture } from "../../../src/testkit/claims/index.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { ownName } from "../../support/servers.js";

export type RedisFixture = SessionStoreFixture & {
  readonly store: RedisSessionStore;
  readonly url: string;
  readonly prefix: string;
  /** A client of a stranger, and how it names a key of this fixture. */
  readonly client: Redis;
  key(kind: string, id?: string): string;
  open(options?: { readonly timeoutMs?: number }): RedisSessionStore;
};

/** A store under a prefix of its own, whose keys are removed at the end; with others on the same data on demand. */
export function redisFixture(
  url: string,
  prefix = `{${ownName()}}:`,
): RedisFixture & { [Symbol.asyncDispose](): Promise<void> } {
  const opened: RedisSessionStore[] = [];
  const client = new Redis(url, { lazyConnect: true });
  client.on("error", () => {});
  const open = (options: { readonly timeoutMs?: number } = {}): RedisSessionStore => {
    const store = new RedisSessionStore({ url, prefix, timeoutMs: PATIENCE_MS, ...options });
    opened.push(store);
    return store;
  };
  const key = (kind: string, id?: string): string =>
    id === undefined ? `${prefix}${kind}` : `${prefix}${kind}:${textKey(id)}`;
  return {
    store: open(),
    url,
    prefix,
    client,
    key,
    open,
    reopen: () => open(),
    damage: async (id) => {
      await client.lset(key("messages", id), 1, '{"role":"us');
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store.close();
      await removeKeys(client, prefix);
      client.disconnect();
    },
  };
}

async function removeKeys(client: Redis, prefix: string): Promise<void> {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, "\\$&")}*`;
  for (let cursor = "0"; ; ) {
    const [next, keys] = await client.scan(cursor, "MATCH", pattern, "COUNT", 10_000);
    if (keys.length > 0) await client.del(keys);
    if (next === "0") return;
    cursor = next;
  }
}
