import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { encodeLine } from "../../../src/adapters/sessions/jsonl-line.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { type JsonlFixture, jsonlFixture } from "./jsonl-fixture.js";

const idsIn = ({ messages }: { messages: readonly { readonly id: string }[] }): string[] =>
  messages.map(({ id }) => id);

/** A session of three appends: a, b, c. */
async function threeAppends({ store }: JsonlFixture): Promise<void> {
  for (const [n, id] of ["a", "b", "c"].entries()) await store.append("s", deltaOf(id, n, [note(id)]));
}

/** Takes the last record out and puts this in its place, as a file whose writer died. */
function tearLast(fixture: JsonlFixture, tear: (record: string) => string): void {
  const lines = fixture.linesOf("s");
  const record = lines.pop() ?? "";
  writeFileSync(fixture.fileOf("s"), `${lines.join("\n")}\n${tear(record)}`);
}

function changeLine(fixture: JsonlFixture, number: number, change: (line: string) => string): void {
  const lines = fixture.linesOf("s");
  lines[number - 1] = change(lines[number - 1] ?? "");
  writeFileSync(fixture.fileOf("s"), `${lines.join("\n")}\n`);
}

describe("half a record", () => {
  const foreign = '{"id":"3","role":"user","te';
  test.each([
    ["of one byte", (record: string) => record.slice(0, 1)],
    ["cut in its frame", (record: string) => record.slice(0, 30)],
    ["cut in its body", (record: string) => record.slice(0, -40)],
    ["cut before its last byte", (record: string) => record.slice(0, -1)],
    ["cut and ended", (record: string) => `${record.slice(0, -1)}\n`],
    ["cut, ended and followed by an empty line", (record: string) => `${record.slice(0, -40)}\n\n`],
    ["of a stranger", () => foreign],
    ["of a stranger, ended", () => `${foreign}\n\n`],
    ["of zeros", () => "\0".repeat(300)],
    ["whose end is zeros", (record: string) => `${record.slice(0, -40)}${"\0".repeat(40)}`],
    ["whose end is zeros from its frame on", (record: string) => `${record.slice(0, 30)}${"\0".repeat(300)}`],
  ])(
    "%s costs itself alone: what is before it is loaded, and what is appended after it stays",
    async (_title, tear) => {
      for (const cached of [true, false]) {
        await using fixture = jsonlFixture();
        await threeAppends(fixture);
        tearLast(fixture, tear);
        const store = cached ? fixture.store : fixture.reopen();
        expect(idsIn(await store.load("s"))).toEqual(["a", "b"]);
        expect((await store.list()).items).toMatchObject([{ id: "s", revision: 2, count: 2 }]);
        expect(await store.append("s", deltaOf("c", 2, [note("c")]))).toBe(3);
        expect(await store.append("s", deltaOf("d", 3, [note("d")]))).toBe(4);
        for (const reader of [store, fixture.reopen()]) {
          expect(idsIn(await reader.load("s"))).toEqual(["a", "b", "c", "d"]);
          expect(await reader.load("s", 2)).toMatchObject({ from: 2, messages: [note("c"), note("d")] });
        }
        expect(await fixture.reopen().append("s", deltaOf("c", 9, []))).toBe(3);
      }
    },
  );

  test("a record without its line feed is whole, and the next one begins a line", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    tearLast(fixture, (record) => record);
    const store = fixture.reopen();
    expect(idsIn(await store.load("s"))).toEqual(["a", "b", "c"]);
    await store.append("s", deltaOf("d", 3, [note("d")]));
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "c", "d"]);
    expect(fixture.linesOf("s")).toHaveLength(4);
  });

  test("that the next record was glued to costs itself alone", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    const lines = fixture.linesOf("s");
    const half = lines[2]?.slice(0, -50) ?? "";
    writeFileSync(fixture.fileOf("s"), `${lines.slice(0, 2).join("\n")}\n${half}${lines[2]}\n`);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "c"]);
    expect(await fixture.reopen().append("s", deltaOf("d", 3, [note("d")]))).toBe(4);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "c", "d"]);
  });

  const both = (record: string, first: number, second: number): string =>
    `${record.slice(0, first)}${record.slice(0, second)}`;
  test.each([
    ["in their bodies", (record: string) => both(record, -50, -30)],
    ["the second in its frame", (record: string) => both(record, -50, 40)],
    ["the first in its frame", (record: string) => both(record, 30, -50)],
    ["both in their frames", (record: string) => both(record, 30, 20)],
    ["three of them, and the line ended", (record: string) => `${both(record, -50, -30)}${record.slice(0, -1)}\n`],
  ])("of two writers that died at one end of the file, %s, cost themselves alone", async (_title, tear) => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    tearLast(fixture, tear);
    expect(idsIn(await fixture.store.load("s"))).toEqual(["a", "b"]);
    expect(await fixture.reopen().append("s", deltaOf("d", 2, [note("d")]))).toBe(3);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "d"]);
  });

  test("before a whole record that was changed does not make it look torn", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    tearLast(fixture, (record) => `${record.slice(0, -50)}${record.replace('"text":"c"', '"text":"X"')}\n`);
    await expect(fixture.store.load("s")).rejects.toMatchObject({ kind: "corrupt" });
  });

  test("of the first record is a session that was never written", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    writeFileSync(fixture.fileOf("s"), (fixture.linesOf("s")[0] ?? "").slice(0, -9));
    const store = fixture.reopen();
    expect(await store.load("s")).toEqual({ messages: [], metadata: {}, revision: 0 });
    expect((await store.list()).items).toEqual([]);
    expect(await store.append("s", deltaOf("o", 0, [note("b")]))).toBe(1);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["b"]);
  });
});

describe("damage", () => {
  test.each([
    ["a changed letter", 2, (line: string) => line.replace('"text":"b"', '"text":"X"')],
    ["a changed sum", 2, (line: string) => line.replace(/"sum":"./, '"sum":"z')],
    ["a changed version", 2, (line: string) => line.replace('{"ennead":1', '{"ennead":x')],
    ["a cut line", 2, (line: string) => line.slice(0, -20)],
    ["a removed line", 2, () => ""],
    ["a line of garbage", 2, () => "not json"],
    ["a changed letter in the first line", 1, (line: string) => line.replace('"text":"a"', '"text":"X"')],
    ["a changed letter in the last line", 3, (line: string) => line.replace('"text":"c"', '"text":"X"')],
    ["garbage in the last line", 3, () => "not json"],
    ["a changed frame in the last line", 3, (line: string) => line.replace('"length":1', '"length":x')],
  ])("%s is corrupt, names file and line, and stays as it is", async (_title, number, change) => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    await fixture.store.append("other", deltaOf("o", 0, [note("x")]));
    changeLine(fixture, number, change);
    const before = readFileSync(fixture.fileOf("s"));
    const store = fixture.reopen();
    // A record that is missing is noticed at the one after it.
    const at = _title === "a cut line" || _title === "a removed line" ? number + 1 : number;
    const corrupt = {
      name: "SessionError",
      kind: "corrupt",
      message: expect.stringContaining(`file s.jsonl, line ${at} `),
    };
    for (const call of [
      () => store.load("s"),
      () => store.load("s", 2),
      () => store.append("s", deltaOf("d", 3, [note("d")])),
      () => store.save("s", { messages: [], metadata: {}, revision: 3 }),
      () => fixture.store.load("s"),
    ]) {
      await expect(call()).rejects.toMatchObject(corrupt);
    }
    expect(readFileSync(fixture.fileOf("s")).equals(before)).toBe(true);
    expect((await store.list()).items.map(({ id }) => id)).toEqual(expect.arrayContaining(["s", "other"]));
    expect(idsIn(await store.load("other"))).toEqual(["x"]);

    const highest = await store.save("s", { messages: [note("new")], metadata: {}, revision: 0 }, { replace: true });
    expect(highest).toBeGreaterThan(3);
    expect(idsIn(await fixture.store.load("s"))).toEqual(["new"]);
  });

  test.each(["save", "delete"] as const)(
    "of what a %s left hides how high the revision was, and no later one is as low",
    async (call) => {
      await using fixture = jsonlFixture();
      for (let n = 0; n < 50; n++) await fixture.store.append("s", deltaOf(`o${n}`, n, []));
      if (call === "delete") await fixture.store.delete("s");
      else await fixture.store.save("s", { messages: [note("a")], metadata: {}, revision: 50 });
      changeLine(fixture, 1, (line) => line.replace('"revision":5', '"revision":6'));
      const store = fixture.reopen();
      await expect(store.load("s")).rejects.toMatchObject({ kind: "corrupt" });
      const none = { messages: [], metadata: {}, revision: 0 };
      const next = await store.save("s", none, { replace: true });
      expect(next).toBeGreaterThan(51);
      expect(await fixture.reopen().append("s", deltaOf("p", next, []))).toBe(next + 1);
    },
  );

  test("a whole record that is not the one that was there is noticed at the next one", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    const other = encodeLine(
      JSON.stringify(JSON.parse(fixture.linesOf("s")[1] ?? ""))
        .replace(/^.*?"number"/, '"number"')
        .replace('"text":"b"', '"text":"X"')
        .slice(0, -1),
    );
    changeLine(fixture, 2, () => other.text);
    const message = expect.stringContaining("file s.jsonl, line 3 is damaged");
    await expect(fixture.reopen().load("s")).rejects.toMatchObject({ kind: "corrupt", message });
  });

  test("a file of text in a session's place is corrupt, listed, and gone with a delete", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("a")]));
    writeFileSync(fixture.fileOf("s"), "not json\n");
    for (const store of [fixture.store, fixture.reopen()]) {
      await expect(store.load("s")).rejects.toMatchObject({ kind: "corrupt" });
      await expect(store.append("s", deltaOf("p", 0, []))).rejects.toMatchObject({ kind: "corrupt" });
      expect((await store.list()).items).toMatchObject([{ id: "s", revision: 0, count: 0 }]);
    }
    expect(readFileSync(fixture.fileOf("s"), "utf8")).toBe("not json\n");
    await fixture.store.delete("s");
    expect(await fixture.reopen().append("s", deltaOf("o", 0, [note("b")]))).toBeGreaterThan(1);
  });

  test("a line added by hand harms nothing while the records about it follow one another", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    changeLine(fixture, 2, (line) => `# a remark\n${line}`);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "c"]);
  });

  test("line feeds turned into those of Windows change nothing", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    writeFileSync(fixture.fileOf("s"), readFileSync(fixture.fileOf("s"), "utf8").replaceAll("\n", "\r\n"));
    const store = fixture.reopen();
    expect(await store.append("s", deltaOf("d", 3, [note("d")]))).toBe(4);
    expect(idsIn(await fixture.reopen().load("s"))).toEqual(["a", "b", "c", "d"]);
  });

  test("the file of another session in the place of this one is corrupt", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    renameSync(fixture.fileOf("s"), fixture.fileOf("t"));
    await expect(fixture.store.load("t")).rejects.toMatchObject({
      kind: "corrupt",
      message: expect.stringContaining("another session"),
    });
  });

  test("an older copy of the file is loaded as it is", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    const copy = readFileSync(fixture.fileOf("s"));
    await fixture.store.append("s", deltaOf("d", 3, [note("d")]));
    writeFileSync(fixture.fileOf("s"), copy);
    expect(idsIn(await fixture.store.load("s", 4))).toEqual(["a", "b", "c"]);
    expect(await fixture.store.append("s", deltaOf("d", 3, [note("e")]))).toBe(4);
  });

  test("a newer format is a typed error that names both versions; it is listed and not written over", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    const { text } = encodeLine('"number":4,"new":true');
    appendFileSync(fixture.fileOf("s"), `${text.replace('"ennead":1', '"ennead":2')}\n`);
    const before = readFileSync(fixture.fileOf("s"));
    const store = fixture.reopen();
    const message = expect.stringContaining("file s.jsonl has format 2, this version of the package reads 1");
    const replaced = { messages: [], metadata: {}, revision: 3 };
    await expect(store.load("s")).rejects.toMatchObject({ kind: "load", message });
    await expect(store.append("s", deltaOf("d", 3, []))).rejects.toMatchObject({ kind: "load", message });
    await expect(store.save("s", replaced, { replace: true })).rejects.toMatchObject({ kind: "load", message });
    expect((await store.list()).items).toMatchObject([{ id: "s", revision: 3 }]);
    expect(readFileSync(fixture.fileOf("s")).equals(before)).toBe(true);
  });
});

describe("a place that cannot be used", () => {
  test("a directory that goes away takes no session for new, and the store works when it is back", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    renameSync(fixture.directory, `${fixture.directory}.away`);
    const { store } = fixture;
    await expect(store.load("s")).rejects.toMatchObject({
      name: "SessionError",
      kind: "load",
      message: expect.stringContaining("ENOENT"),
    });
    await expect(store.append("s", deltaOf("d", 3, []))).rejects.toMatchObject({ name: "SessionError", kind: "save" });
    await expect(store.save("t", { messages: [], metadata: {}, revision: 0 })).rejects.toMatchObject({ kind: "save" });
    await expect(store.list()).rejects.toMatchObject({ kind: "load" });
    renameSync(`${fixture.directory}.away`, fixture.directory);
    expect(await store.append("s", deltaOf("d", 3, [note("d")]))).toBe(4);
    expect(idsIn(await store.load("s"))).toEqual(["a", "b", "c", "d"]);
  });

  test("a file in the place of the directory is a typed error, and using the store later is not spoilt by it", async () => {
    await using fixture = jsonlFixture();
    writeFileSync(fixture.directory, "");
    await expect(fixture.store.load("s")).rejects.toMatchObject({
      kind: "load",
      message: expect.stringContaining("EEXIST"),
    });
    rmSync(fixture.directory);
    expect(await fixture.store.append("s", deltaOf("o", 0, []))).toBe(1);
  });

  test("a directory or a link in the place of a file is a typed error, and a link is not followed", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    symlinkSync(fixture.fileOf("s"), fixture.fileOf("linked"));
    await expect(fixture.store.load("linked")).rejects.toMatchObject({
      kind: "load",
      message: expect.stringContaining("ELOOP"),
    });
    await expect(fixture.store.append("linked", deltaOf("o", 0, []))).rejects.toMatchObject({ kind: "save" });
    expect(fixture.linesOf("s")).toHaveLength(3);
  });

  test("a directory or a link in the place of a file leaves the others listed, and is listed as what cannot be read", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    symlinkSync(fixture.fileOf("s"), fixture.fileOf("linked"));
    symlinkSync(join(fixture.directory, "nowhere"), fixture.fileOf("dangling"));
    mkdirSync(fixture.fileOf("folder"));
    const { items } = await fixture.store.list();
    expect(items.map(({ id, count }) => `${id} ${count}`).sort()).toEqual([
      "dangling 0",
      "folder 0",
      "linked 0",
      "s 3",
    ]);
    const first = await fixture.store.list({ limit: 2 });
    const second = await fixture.store.list({ limit: 2, cursor: first.cursor ?? "" });
    expect([...first.items, ...second.items]).toEqual(items);
  });

  test("an append that is repeated is answered when the device has it, whoever wrote it", async () => {
    await using fixture = jsonlFixture({ fsync: "always" });
    await fixture.store.append("s", deltaOf("a", 0, [note("a")]));
    const handle = await open(fixture.fileOf("s"));
    const synced = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "datasync");
    await handle.close();
    expect(await fixture.reopen().append("s", deltaOf("a", 0, [note("a")]))).toBe(1);
    expect(synced).toHaveBeenCalledTimes(1);
    synced.mockRestore();
  });

  test("files can be read by their owner alone", async () => {
    await using fixture = jsonlFixture();
    await threeAppends(fixture);
    await fixture.store.save("t", { messages: [note("a")], metadata: {}, revision: 0 });
    for (const file of readdirSync(fixture.directory)) {
      expect(statSync(join(fixture.directory, file)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(fixture.directory).mode & 0o777).toBe(0o700);
  });
});
