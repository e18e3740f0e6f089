import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { JsonlSessionStore } from "../../../src/adapters/sessions/jsonl.js";
import { JsonlDirectory } from "../../../src/adapters/sessions/jsonl-directory.js";
import { JsonlFile } from "../../../src/adapters/sessions/jsonl-file.js";
import { fileNameOf } from "../../../src/adapters/sessions/jsonl-names.js";
import { saveSession } from "../../../src/adapters/sessions/jsonl-session.js";
import { encodeSession } from "../../../src/adapters/sessions/session-text.js";
import type { Session } from "../../../src/domain/session.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { jsonlFixture } from "./jsonl-fixture.js";
import { serverContract } from "./server-contract.js";

const empty: Session = { messages: [], metadata: {}, revision: 0 };

describe("JsonlSessionStore", () => {
  serverContract(jsonlFixture, 100);

  test("keeps the claims of one writer with fsync too", async () => {
    await using fixture = jsonlFixture({ fsync: "always" });
    expect(await fixture.store.append("s", deltaOf("o", 0, [note("a")]))).toBe(1);
    const revision = await fixture.store.save("s", { ...empty, revision: 1, messages: [note("b")] });
    await fixture.store.delete("t");
    expect(await fixture.reopen().load("s")).toEqual({ ...empty, messages: [note("b")], revision });
  });

  test("closes as often as it is asked, after the calls under way, and rejects what comes afterwards", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    const saved = store.save("s", empty);
    await store.close();
    expect(fixture.linesOf("s")).toHaveLength(1);
    await saved;
    await store.close();
    await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
    await expect(store.append("s", deltaOf("o", 1, []))).rejects.toMatchObject({ name: "SessionError", kind: "save" });
    await expect(store.delete("s")).rejects.toThrow("the store is closed");
  });

  test("makes no directory before its first call, and no file for what was never written", async () => {
    await using fixture = jsonlFixture();
    const { store, directory } = fixture;
    expect(existsSync(directory)).toBe(false);
    expect(await store.load("s")).toEqual(empty);
    await store.delete("s");
    await expect(store.append("s", deltaOf("o", 7, []))).rejects.toMatchObject({ kind: "conflict" });
    await expect(store.save("s", { ...empty, revision: 7 })).rejects.toMatchObject({ kind: "conflict" });
    expect(readdirSync(directory)).toEqual([]);
  });

  test("a save leaves one file, without what it replaced, and a delete leaves an id and a revision", async () => {
    await using fixture = jsonlFixture();
    const { store, directory } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m", "secret")], { metadata: { k: "secret" } }));
    await store.save("s", { ...empty, messages: [note("n")], revision: 1 });
    expect(readdirSync(directory)).toEqual([basename(fixture.fileOf("s"))]);
    expect(readFileSync(fixture.fileOf("s"), "utf8")).not.toContain("secret");
    await store.delete("s");
    expect(readdirSync(directory)).toEqual([basename(fixture.fileOf("s"))]);
    expect(fixture.linesOf("s")).toEqual([
      expect.stringMatching(/,"number":1,"after":"","at":\d+,"id":"s","generation":2,"deleted":\{"revision":2\}\}$/),
    ]);
  });

  test("a writer that has the old file open when it is replaced writes to the new one", async () => {
    await using fixture = jsonlFixture();
    const other = fixture.reopen();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    await other.load("s");
    let saves = 0;
    // Two stores that know nothing of one another: while one replaces the file, the other appends to it, a little later each time.
    for (let n = 1; n <= 80; n++) {
      const session = await fixture.store.load("s");
      const save = fixture.store.save("s", session).then(() => saves++, expectConflict);
      for (let turns = 0; turns < n % 40; turns++) await new Promise((resolve) => void setImmediate(resolve));
      for (let stored = false; !stored; ) {
        const { revision } = await other.load("s");
        await other
          .append("s", deltaOf(`m${n}`, revision, [note(`m${n}`)]))
          .then(() => (stored = true), expectConflict);
      }
      await save;
    }
    const { messages, revision } = await fixture.reopen().load("s");
    expect(messages.map(({ id }) => id)).toEqual(["a", ...Array.from({ length: 80 }, (_, n) => `m${n + 1}`)]);
    expect(revision).toBe(81 + saves);
    expect(readdirSync(fixture.directory)).toHaveLength(1);
  });

  test("a save whose new file a reader put in place is no conflict", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    const other = fixture.reopen();
    const directory = new (class extends JsonlDirectory {
      override async open(...args: Parameters<JsonlDirectory["open"]>): Promise<FileHandle | undefined> {
        const handle = await super.open(...args);
        return handle && afterEachWrite(handle, () => other.load("s"));
      }
    })(fixture.directory, "never");
    const file = new JsonlFile(directory, fileNameOf("s"));
    const session = await fixture.store.load("s");
    expect(await saveSession({ file, directory, id: "s" }, session, {}, encodeSession(session))).toBe(2);
    expect(readdirSync(fixture.directory)).toEqual([basename(fixture.fileOf("s"))]);
  });

  test("an append reads nothing but the end of the file", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m", "x".repeat(2_000_000))]));
    await store.append("s", deltaOf("p", 1, [note("n")]));
    const { size } = statSync(fixture.fileOf("s"));
    const read = await bytesRead(() => store.append("s", deltaOf("q", 2, [note("o")])));
    expect(size).toBeGreaterThan(2_000_000);
    expect(read).toBeLessThan(500_000);
  });

  test("lists sessions that were written in the same moment by two processes once each", async () => {
    await using fixture = jsonlFixture();
    const stores = [fixture.store, fixture.reopen(), fixture.reopen()];
    await Promise.all(stores.flatMap((store, at) => ["a", "b", "c"].map((id) => store.save(`${id}${at}`, empty))));
    const shown: string[] = [];
    for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page++) {
      const { items, cursor: next } = await fixture.store.list({ limit: 2, ...(cursor !== undefined && { cursor }) });
      shown.push(...items.map(({ id }) => id));
      cursor = next;
    }
    expect(shown.toSorted()).toEqual(["a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"]);
  });

  test.each([{}, { directory: "" }, { directory: 1 }, undefined, "x", { directory: "x", fsync: "sometimes" }])(
    "options %j are refused",
    (options) => {
      expect(() => new JsonlSessionStore(options as never)).toThrow(/CompositionError\(invalid-config\)/);
    },
  );
});

function expectConflict(error: unknown): void {
  expect(error).toMatchObject({ name: "SessionError", kind: "conflict" });
}

/** How much this process read from files meanwhile, as its kernel counts. */
async function bytesRead(run: () => Promise<unknown>): Promise<number> {
  const count = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  const before = count();
  const own = count() - before;
  await run();
  return count() - before - 2 * own;
}

function afterEachWrite(handle: FileHandle, then: () => Promise<unknown>): FileHandle {
  const write = handle.write.bind(handle) as (...args: readonly unknown[]) => Promise<unknown>;
  return Object.assign(handle, {
    write: async (...args: readonly unknown[]) => {
      const written = await write(...args);
      await then();
      return written;
    },
  });
}
