import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { JsonlSessionStore } from "../../../src/adapters/sessions/jsonl.js";
import { JsonlDirectory } from "../../../src/adapters/sessions/jsonl-directory.js";
import { moveMembers } from "../../../src/adapters/sessions/jsonl-entry.js";
import { JsonlFile } from "../../../src/adapters/sessions/jsonl-file.js";
import { encodeLine } from "../../../src/adapters/sessions/jsonl-line.js";
import { fileNameOf } from "../../../src/adapters/sessions/jsonl-names.js";
import { appendSession, saveSession } from "../../../src/adapters/sessions/jsonl-session.js";
import { encodeDelta, encodeSession } from "../../../src/adapters/sessions/session-text.js";
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
    const directory = interruptedDirectory(fixture.directory, () => other.load("s"));
    const file = new JsonlFile(directory, fileNameOf("s"));
    const session = await fixture.store.load("s");
    expect(await saveSession({ file, directory, id: "s" }, session, {}, encodeSession(session))).toBe(2);
    expect(readdirSync(fixture.directory)).toEqual([basename(fixture.fileOf("s"))]);
  });

  test("an append whose file was replaced before it looked is not made once more", async () => {
    await using fixture = jsonlFixture();
    const other = fixture.reopen();
    const directory = interruptedDirectory(fixture.directory, () => other.delete("s"));
    const file = new JsonlFile(directory, fileNameOf("s"));
    const patch = deltaOf("p", undefined, [], { metadata: { k: 1 } });
    expect(await appendSession({ file, directory, id: "s" }, patch, encodeDelta(patch))).toBe(0);
    expect((await fixture.store.list()).items).toEqual([]);
  });

  test("what another process put in the place of a file that is known is not taken for its end", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    await store.append("s", deltaOf("o", 0, [note("a")]));
    const known = await store.append("s", deltaOf("p", 1, [note("b")]));
    const other = fixture.reopen();
    const messages = Array.from({ length: 50 }, (_, n) => note(`m${n}`));
    const revision = await other.save("s", { messages, metadata: { k: 1 }, revision: known });
    await expect(store.append("s", deltaOf("q", known, []))).rejects.toMatchObject({ kind: "conflict" });
    expect(await store.append("s", deltaOf("p", 0, []))).toBe(known);
    expect(await store.load("s", known)).toEqual({ messages, metadata: { k: 1 }, revision });
    expect(await store.append("s", deltaOf("r", revision, [note("c")]))).toBe(revision + 1);
  });

  test("a save removes what killed ones had prepared for the same file, and nothing else", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    const nonce = "0123456789abcdef";
    const kept = [`s.jsonl.9-${nonce}.new`, `s2.jsonl.1-${nonce}.new`, "s.jsonl.1-mine.new", "s.jsonl.bak"];
    for (const file of [`s.jsonl.1-${nonce}.new`, ...kept]) writeFileSync(join(fixture.directory, file), "");
    await fixture.store.save("s", { ...empty, revision: 1 });
    expect(readdirSync(fixture.directory).sort()).toEqual(["s.jsonl", ...kept].sort());
    expect((await fixture.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
  });

  test.each(["append", "load", "list"] as const)(
    "a replacement whose process died before its rename is finished by %s",
    async (call) => {
      await using fixture = jsonlFixture();
      await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
      const old = readFileSync(fixture.fileOf("s"));
      await fixture.store.save("s", { ...empty, messages: [note("b")], revision: 1 });
      const to = "1-0123456789abcdef";
      renameSync(fixture.fileOf("s"), join(fixture.directory, `s.jsonl.${to}.new`));
      const moved = encodeLine(moveMembers({ from: old.length, to })).text;
      // One that stands elsewhere than it says lost a race, and counts for nothing.
      const lost = encodeLine(moveMembers({ from: old.length, to: "1-00000000000000ff" })).text;
      writeFileSync(fixture.fileOf("s"), `${old.toString()}${moved}\n${lost}\n`);
      const store = fixture.reopen();
      if (call === "append") expect(await store.append("s", deltaOf("p", 2, [note("c")]))).toBe(3);
      if (call === "load") expect(await store.load("s")).toMatchObject({ messages: [note("b")], revision: 2 });
      if (call === "list") expect((await store.list()).items).toMatchObject([{ id: "s", revision: 2, count: 1 }]);
      expect(readdirSync(fixture.directory)).toEqual(["s.jsonl"]);
      expect((await fixture.reopen().load("s")).messages[0]).toEqual(note("b"));
    },
  );

  test("a replacement that is named and gone is corrupt", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    const { size } = statSync(fixture.fileOf("s"));
    const to = "1-0123456789abcdef";
    appendFileSync(fixture.fileOf("s"), `${encodeLine(moveMembers({ from: size, to })).text}\n`);
    const message = expect.stringContaining(`file s.jsonl.${to}.new is missing`);
    await expect(fixture.store.load("s")).rejects.toMatchObject({ kind: "corrupt", message });
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

/** A directory whose files do `then` between a write to them and the look at what came of it. */
function interruptedDirectory(path: string, then: () => Promise<unknown>): JsonlDirectory {
  return new (class extends JsonlDirectory {
    override async open(...args: Parameters<JsonlDirectory["open"]>): Promise<FileHandle | undefined> {
      const handle = await super.open(...args);
      return handle && afterEachWrite(handle, then);
    }
  })(path, "never");
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
