import { expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { copySessions } from "../../src/agent/copy-sessions.js";
import { copySession, exportSession, importSession } from "../../src/agent/session-transfer.js";
import { SessionError } from "../../src/domain/errors.js";
import type { Session, SessionPage } from "../../src/domain/session.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import {
  deltaOf,
  everyMessage,
  HOSTILE_IDS,
  HOSTILE_TEXT,
  note,
  sessionOf,
  valueTypes,
  withProto,
} from "../../src/testkit/claims/session-samples.js";
import { RecordingSessionStore } from "../../src/testkit/index.js";
import { sqliteFixture } from "../adapters/sessions/sqlite-fixture.js";
import { SaveOnlyStore } from "../support/conversations.js";
import { textFrom } from "../support/texts.js";

const whole = {
  messages: everyMessage(),
  metadata: { ...valueTypes(), [HOSTILE_TEXT]: HOSTILE_TEXT, ["__proto__"]: withProto() },
  compaction: { upTo: "m2", messages: [note("short", HOSTILE_TEXT)] },
  v2: withProto(),
};

/** A session without what each store numbers for itself. */
async function bodyIn(store: SessionStore, id: string): Promise<Omit<Session, "revision">> {
  const { revision: _revision, ...body } = await store.load(id);
  return body;
}

async function filled(ids: readonly string[]): Promise<MemorySessionStore> {
  const store = new MemorySessionStore();
  for (const id of ids) await store.save(id, { ...whole, metadata: { ...whole.metadata, of: id }, revision: 0 });
  return store;
}

const idsIn = async (store: MemorySessionStore): Promise<string[]> =>
  (await store.list({ limit: 10_000 })).items.map(({ id }) => id);

test("sessions are copied from one store to another and on to a third as they are, in the order of their list", async () => {
  await using fixture = sqliteFixture();
  const from = await filled(HOSTILE_IDS);
  expect(await copySessions({ from, to: fixture.store })).toEqual({
    copied: HOSTILE_IDS.length,
    unchanged: 0,
    failures: [],
  });
  const third = new MemorySessionStore();
  await copySessions({ from: fixture.store, to: third });
  expect(await idsIn(third)).toEqual(await idsIn(from));
  for (const id of HOSTILE_IDS) {
    expect(await bodyIn(third, id)).toStrictEqual(await bodyIn(from, id));
    expect(JSON.stringify(await bodyIn(third, id)), id).toBe(JSON.stringify(await bodyIn(from, id)));
  }
});

test("more sessions than a page are copied, also where others are written between the pages", async () => {
  const from = await filled(Array.from({ length: 1_203 }, (_, n) => `s${n}`));
  let pages = 0;
  const busy = Object.create(from) as MemorySessionStore;
  busy.load = (id, known) => from.load(id, known);
  busy.list = async (query): Promise<SessionPage> => {
    const page = await from.list(query);
    // The oldest moves to the front, before anybody has read the page it was on.
    if (pages++ === 0) await from.append("s0", deltaOf("o", 1, [note("late")]));
    return page;
  };
  const to = new MemorySessionStore();
  expect((await copySessions({ from: busy, to })).copied).toBe(1_203);
  expect(await idsIn(to)).toEqual(await idsIn(from));
  expect((await to.load("s0")).messages.at(-1)).toEqual(note("late"));
});

test("copying that was interrupted goes on where it was, and says what it found", async () => {
  const from = await filled(["a", "b", "c", "d"]);
  const to = new MemorySessionStore();
  const stop = new AbortController();
  const reason = new Error("enough");
  const first = copySessions({
    from,
    to,
    signal: stop.signal,
    onSession: ({ id }) => void (id === "b" && stop.abort(reason)),
  });
  await expect(first).rejects.toBe(reason);
  expect(await idsIn(to)).toEqual(["b", "a"]);
  expect(await copySessions({ from, to })).toEqual({ copied: 2, unchanged: 2, failures: [] });
  expect(await copySessions({ from, to })).toEqual({ copied: 0, unchanged: 4, failures: [] });
  expect((await to.load("a")).revision).toBe(1);
});

test("nothing takes the place of another session unless it is asked for, and the others are copied all the same", async () => {
  const from = await filled(["a", "b", "c"]);
  const to = new MemorySessionStore();
  await to.save("b", sessionOf(0, "other"));
  await to.append("c", deltaOf("p", undefined, [], { metadata: { title: "mine" } }));
  const report = await copySessions({ from, to });
  expect(report).toMatchObject({ copied: 1, unchanged: 0 });
  expect(report.failures.map(({ id, outcome, error }) => [id, outcome, error.kind])).toEqual([
    ["b", "refused", "conflict"],
    ["c", "refused", "conflict"],
  ]);
  expect((await to.load("b")).messages).toEqual([note("other")]);
  expect(await copySessions({ from, to, replace: true })).toEqual({ copied: 2, unchanged: 1, failures: [] });
  for (const id of ["a", "b", "c"]) expect(await bodyIn(to, id)).toEqual(await bodyIn(from, id));
});

test("a damaged session is in the report and keeps no other from being copied", async () => {
  await using fixture = sqliteFixture();
  for (const id of ["a", "b", "c"]) await fixture.store.save(id, sessionOf(0, "m", "n"));
  await fixture.damage?.("b");
  const to = new MemorySessionStore();
  const told: string[] = [];
  const report = await copySessions({
    from: fixture.store,
    to,
    onSession: ({ id, outcome }) => told.push(`${id} ${outcome}`),
  });
  expect(told).toEqual(["a copied", "b failed", "c copied"]);
  expect(report.failures).toMatchObject([
    { id: "b", outcome: "failed", error: { name: "SessionError", kind: "corrupt" } },
  ]);
  expect(await idsIn(to)).toEqual(["c", "a"]);
});

test("ids may be named, one that nobody has written is a failure, and a store that cannot list needs them", async () => {
  const from = await filled(["a", "b"]);
  const to = new SaveOnlyStore(new RecordingSessionStore());
  const report = await copySessions({ from, to, ids: ["b", "ghost"] });
  expect(report).toMatchObject({ copied: 1, failures: [{ id: "ghost", outcome: "failed", error: { kind: "load" } }] });
  await expect(copySessions({ from: to, to: from })).rejects.toMatchObject({ name: "SessionError", kind: "load" });
  await expect(copySessions({ from, to: from })).rejects.toMatchObject({ name: "SessionError", kind: "save" });
});

test("a copy is of one revision: what is written meanwhile is in it whole or not at all, and a lease never", async () => {
  const from = new MemorySessionStore();
  const lease = { [SESSION_KEYS.turn]: { turnId: "t", until: 1 }, title: "t" };
  await from.append("s", deltaOf("o", 0, [note("a")], { metadata: lease }));
  const to = new MemorySessionStore();
  expect(await copySession("s", { from, to })).toBe("copied");
  expect(await to.load("s")).toEqual({ messages: [note("a")], metadata: { title: "t" }, revision: 1 });
  expect(await copySession("s", { from, to })).toBe("unchanged");
  await from.append("s", deltaOf("p", 1, [note("b")]));
  await expect(copySession("s", { from, to })).rejects.toMatchObject({ name: "SessionError", kind: "conflict" });
  expect(await copySession("s", { from, to, replace: true })).toBe("copied");
  expect((await to.load("s")).messages).toEqual([note("a"), note("b")]);
});

test("of two that copy to one target at once, one stores the session and the other finds it", async () => {
  const from = await filled(["s"]);
  const to = new MemorySessionStore();
  const ends = await Promise.allSettled([1, 2].map(() => copySession("s", { from, to })));
  expect(ends.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
  for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject({ kind: "conflict" });
  expect(await bodyIn(to, "s")).toEqual(await bodyIn(from, "s"));
  expect((await to.load("s")).revision).toBe(1);
});

test("an export is of the revision its first line is asked for, whatever is written while it is read", async () => {
  const store = new MemorySessionStore();
  await store.save("s", { ...whole, revision: 0 });
  const before = await bodyIn(store, "s");
  const lines = exportSession(store, "s")[Symbol.asyncIterator]();
  const first = await lines.next();
  await store.append("s", deltaOf("o", 1, [note("late")], { metadata: { late: true } }));
  await store.save("s", { messages: [], metadata: {}, revision: 2 });
  let text = String(first.value);
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) text += next.value;
  const to = new MemorySessionStore();
  expect(await importSession(to, text)).toEqual({ id: "s", revision: 1 });
  expect(await bodyIn(to, "s")).toEqual(before);
});

test("an import that fails stores nothing, one under a taken id is a conflict, and `replace` lets it in", async () => {
  const from = await filled(["s"]);
  const text = await textFrom(exportSession(from, "s"));
  const to = new MemorySessionStore();
  await expect(importSession(to, text.slice(0, -50))).rejects.toMatchObject({ kind: "corrupt" });
  expect(await idsIn(to)).toEqual([]);
  await to.save("s", sessionOf(0, "other"));
  await expect(importSession(to, text)).rejects.toMatchObject({ name: "SessionError", kind: "conflict" });
  expect((await to.load("s")).messages).toEqual([note("other")]);
  expect(await importSession(to, text, { id: "second" })).toEqual({ id: "second", revision: 1 });
  expect(await importSession(to, text, { replace: true })).toEqual({ id: "s", revision: 2 });
  expect(await bodyIn(to, "s")).toEqual(await bodyIn(from, "s"));
  await expect(importSession(to, JSON.stringify(sessionOf(3, "a")))).rejects.toBeInstanceOf(SessionError);
  expect(await importSession(to, JSON.stringify(sessionOf(3, "a")), { id: "plain" })).toEqual({
    id: "plain",
    revision: 1,
  });
});

test("what nobody has written is not exported", async () => {
  const lines = exportSession(new MemorySessionStore(), "ghost\n");
  await expect(textFrom(lines)).rejects.toMatchObject({
    name: "SessionError",
    kind: "load",
    message: expect.stringContaining('session "ghost"'),
  });
});
