import { runClaims, sessionStoreClaims } from "ennead/testkit";
import { describe, test } from "vitest";
import { type KeyValue, KeyValueSessionStore } from "../parts/key-value-session-store.js";
import { LogSessionStore } from "../parts/log-session-store.js";

// #region key-value
/** A database of the test's own, which can also be damaged behind the store's back. */
class MapDatabase implements KeyValue {
  readonly texts = new Map<string, string>();

  async get(key: string): Promise<string | undefined> {
    return this.texts.get(key);
  }

  async swap(key: string, expected: string | undefined, value: string): Promise<boolean> {
    if (this.texts.get(key) !== expected) return false;
    this.texts.set(key, value);
    return true;
  }
}

describe("KeyValueSessionStore", () => {
  runClaims({
    test,
    claims: sessionStoreClaims,
    make: () => {
      const database = new MapDatabase();
      return {
        store: new KeyValueSessionStore(database),
        reopen: () => new KeyValueSessionStore(database),
        damage: (id) =>
          void database.texts.set(JSON.stringify(id), (database.texts.get(JSON.stringify(id)) ?? "").slice(0, -9)),
      };
    },
    capabilities: {
      append: { missing: "one text a session: the agent loads and saves instead" },
      list: { missing: "the database cannot list its keys" },
      delete: { missing: "sessions are kept for ever" },
    },
  });
});
// #endregion key-value

// #region log
describe("LogSessionStore", () => {
  runClaims({
    test,
    claims: sessionStoreClaims,
    make: () => ({ store: new LogSessionStore() }),
    capabilities: {
      list: { missing: "the example has no index" },
      delete: { missing: "the example keeps everything" },
      damage: { missing: "nothing is kept outside this process" },
      reopen: { missing: "nothing is kept outside this process" },
    },
  });
});
// #endregion log
