import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { Agent } from "../../src/agent/agent.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import { ScriptedModel, stopResponse } from "../../src/testkit/index.js";
import { rejectionOf } from "../support/turns.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";
import { jsonlFixture } from "../adapters/sessions/jsonl-fixture.js";
import { sqliteFixture, sqlOn } from "../adapters/sessions/sqlite-fixture.js";
import { sessionCases } from "./session-cases.js";

const memoryFixture = () => ({ store: new MemorySessionStore(), [Symbol.asyncDispose]: async () => undefined });

describe.each([
  ["memory", memoryFixture],
  ["sqlite", sqliteFixture],
  ["jsonl", jsonlFixture],
])("the %s store", (_name, make) => {
  sessionCases(make);
});

describe("the sqlite file", () => {
  test("F134: text in its place is told from a missing session, and is still there after a turn's writes", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    writeFileSync(path, "not json");
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    await expect(store.append("s1", deltaOf("o", 0, [note("m")]))).rejects.toMatchObject({ kind: "corrupt" });
    await expect(store.list()).rejects.toMatchObject({ kind: "corrupt" });
    expect(readFileSync(path, "utf8")).toBe("not json");
  });

  test("F134: a session of damaged text is corrupt, listed, and keeps its bytes", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    await store.save("s1", { messages: [note("m")], metadata: {}, revision: 0 });
    sqlOn(path, "UPDATE ennead_messages SET body = 'not json'");
    const { revision } = (await store.list()).items[0] ?? { revision: 0 };
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    await expect(store.append("s1", deltaOf("o", 0, [note("n")]))).rejects.toMatchObject({ kind: "conflict" });
    await store.append("s1", deltaOf("p", revision, [note("n")]));
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    expect(sqlOn(path, "SELECT body FROM ennead_messages WHERE position = 0")).toEqual([{ body: "not json" }]);
  });

  test("F139: unknown fields are in the file after a save", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    const session = { messages: [{ ...note("m"), tags: [1] }], metadata: {}, revision: 0, v2: { a: 1 } };
    await store.save("s", session);
    await store.save("s", await store.load("s"));
    expect(sqlOn(path, "SELECT place, name, body FROM ennead_fields")).toEqual([
      { place: "root", name: "v2", body: '{"a":1}' },
    ]);
    expect(sqlOn(path, "SELECT body FROM ennead_messages")).toEqual([{ body: JSON.stringify(session.messages[0]) }]);
  });

  test("F140: ids that look like paths round-trip and make no file", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    const ids = [
      "../evil",
      "a/../../evil",
      "..\\evil",
      "..",
      ".",
      "",
      "a\u0000b",
      "%2e%2e/x",
      "C:evil",
      "x".repeat(300),
    ];
    const files = (): string[] => [...readdirSync(dirname(path)), ...readdirSync(dirname(dirname(path)))].sort();
    await store.load("s");
    const before = files();
    for (const id of ids) await store.save(id, { messages: [note(id)], metadata: {}, revision: 0 });
    for (const id of ids) expect((await store.load(id)).messages).toEqual([note(id)]);
    expect((await store.list()).items.map(({ id }) => id)).toEqual([...ids].reverse());
    for (const id of ids) await store.delete(id);
    expect((await store.list()).items).toEqual([]);
    expect(files()).toEqual(before);
  });

  test("F145: an append writes as many bytes to a long session as to a short one", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    await store.save("s", { messages: [], metadata: { title: "x".repeat(20_000) }, revision: 0 });
    // While this reader stays, the log only grows: its size is what was written.
    const reader = new DatabaseSync(path);
    reader.exec("BEGIN; SELECT * FROM ennead_sessions");
    let revision = 1;
    const bytesOf = async (turns: number): Promise<number> => {
      const before = statSync(`${path}-wal`).size;
      for (let n = 0; n < turns; n++) {
        const message = note(`m${revision}`, "x".repeat(200));
        revision = await store.append("s", deltaOf(`o${revision}`, revision, [message], { metadata: { n: revision } }));
      }
      return (statSync(`${path}-wal`).size - before) / turns;
    };
    const early = await bytesOf(100);
    await bytesOf(500);
    const late = await bytesOf(100);
    reader.close();
    expect(late).toBeLessThan(early * 1.5);
    expect(late).toBeLessThan(40_000);
    expect(await store.load("s", revision - 1)).toMatchObject({ from: 699, messages: [{ id: `m${revision - 1}` }] });
  });
});

describe("the file of a jsonl session", () => {
  test("F130: a torn last line costs at most itself when the next record is appended", async () => {
    await using fixture = jsonlFixture();
    for (const n of [1, 2]) await fixture.store.append("s", deltaOf(`o${n}`, n - 1, [note(`m${n}`)]));
    appendFileSync(fixture.fileOf("s"), '{"id":"3","role":"user","te');
    await fixture.reopen().append("s", deltaOf("o4", 2, [note("m4")]));
    expect((await fixture.reopen().load("s")).messages.map(({ id }) => id)).toEqual(["m1", "m2", "m4"]);
  });

  test("F132: a torn last line followed by an empty one costs at most itself", async () => {
    await using fixture = jsonlFixture();
    await fixture.store.append("s", deltaOf("o", 0, [note("m1")]));
    appendFileSync(fixture.fileOf("s"), '{"a":\n\n');
    expect(await fixture.reopen().load("s")).toEqual({ messages: [note("m1")], metadata: {}, revision: 1 });
  });

  test("F134: text in its place fails a turn as corrupt, is still there afterwards, and listed", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    await store.append("s1", deltaOf("o", 0, [note("m")]));
    writeFileSync(fixture.fileOf("s1"), "not json");
    await using agent = await Agent.create({ model: new ScriptedModel([stopResponse("never")]), sessions: [store] });
    expect(await rejectionOf(agent.runTurn("hi", "s1"))).toMatchObject({
      kind: "session",
      cause: { name: "SessionError", kind: "corrupt" },
    });
    expect(readFileSync(fixture.fileOf("s1"), "utf8")).toBe("not json");
    expect((await store.list()).items.map(({ id }) => id)).toEqual(["s1"]);
  });

  test("F135: two agents in one directory that run at the same time leave two whole turns", async () => {
    await using fixture = jsonlFixture();
    const agentOn = (store: SessionStore, word: string): Promise<Agent> =>
      Agent.create({ model: new ScriptedModel([stopResponse(word)]), sessions: [store] });
    await using a = await agentOn(fixture.store, "a done");
    await using b = await agentOn(fixture.reopen(), "b done");
    await Promise.all([a.runTurn("one", "s1"), b.runTurn("two", "s1")]);
    const { messages } = await fixture.store.load("s1");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    const turnOf = ({ id }: AgentMessage): string => id.slice(0, id.lastIndexOf("."));
    expect(new Set(messages.map(turnOf)).size).toBe(2);
    expect(messages.map(turnOf)).toEqual([0, 2].flatMap((at) => Array(2).fill(turnOf(messages[at] as AgentMessage))));
  });

  test("F139: unknown fields are in the file after a turn and a save", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    const hologram = { type: "hologram", x: 1 };
    const message = { ...note("m"), content: [hologram], tags: [1] } as unknown as AgentMessage;
    await store.save("s", { messages: [message], metadata: {}, revision: 0, ...{ v2: { a: 1 } } });
    const model = new ScriptedModel([stopResponse("done")]);
    await using agent = await Agent.create({ model, sessions: [store] });
    await agent.runTurn("go on", "s");
    await store.save("s", await store.load("s"));
    const text = readFileSync(fixture.fileOf("s"), "utf8");
    expect(text).toContain('"later":{"v2":{"a":1}}');
    expect(text).toContain(JSON.stringify(message));
  });

  test("F140: ids that look like paths round-trip, each in one file of the directory", async () => {
    await using fixture = jsonlFixture();
    const { store, directory } = fixture;
    const ids = [
      ...["../evil", "a/../../evil", "..\\evil", "..", ".", "", "a\u0000b", "%2e%2e/x", "C:evil", "x".repeat(300)],
      ...["CON", "con", "nul.txt", "COM1", "A", "a", "é", "e\u0301", "a ", "a.", "~", "%", "%-", "\ud800", "..jsonl"],
    ];
    await store.load("s");
    const outside = readdirSync(dirname(directory));
    for (const [n, id] of ids.entries()) {
      if (n % 2 === 0) await store.save(id, { messages: [note(id)], metadata: {}, revision: 0 });
      else await store.append(id, deltaOf("o", 0, [note(id)]));
    }
    for (const id of ids) expect((await fixture.reopen().load(id)).messages).toEqual([note(id)]);
    expect((await store.list()).items.map(({ id }) => id)).toEqual([...ids].reverse());
    const files = readdirSync(directory);
    expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(ids.length);
    for (const file of files) expect(file).toMatch(/^[a-z0-9_%-]{1,120}\.jsonl$/);
    for (const id of ids) await store.delete(id);
    expect((await store.list()).items).toEqual([]);
    expect(readdirSync(dirname(directory))).toEqual(outside);
  });

  test("F145: an append writes as many bytes to a long session as to a short one", async () => {
    await using fixture = jsonlFixture();
    const { store } = fixture;
    await store.save("s", { messages: [], metadata: { title: "x".repeat(20_000) }, revision: 0 });
    let revision = 1;
    const bytesOf = async (turns: number): Promise<number> => {
      const before = statSync(fixture.fileOf("s")).size;
      for (let n = 0; n < turns; n++) {
        const message = note(`m${revision}`, "x".repeat(200));
        revision = await store.append("s", deltaOf(`o${revision}`, revision, [message], { metadata: { n: revision } }));
      }
      return (statSync(fixture.fileOf("s")).size - before) / turns;
    };
    const early = await bytesOf(1_000);
    const late = await bytesOf(4_000);
    expect(late).toBeLessThan(early * 1.1);
    expect(late).toBeLessThan(1_000);
    expect(await store.load("s", revision - 1)).toMatchObject({ from: 4_999, messages: [{ id: `m${revision - 1}` }] });
  });
});

test("F145: an append to memory reads the new message only, whatever the length", async () => {
  const store = new MemorySessionStore();
  let reads = 0;
  for (let n = 0; n < 4_000; n++) {
    const message = note(`m${n}`);
    const { id } = message;
    Object.defineProperty(message, "id", { enumerable: true, get: () => (reads++, id) });
    await store.append("s", deltaOf(`o${n}`, n, [message]));
  }
  expect(reads).toBe(4_000);
  expect((await store.load("s", 3_999)).messages).toEqual([note("m3999")]);
});
