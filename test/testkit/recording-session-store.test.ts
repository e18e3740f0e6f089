import { describe, expect, test } from "vitest";
import { Defect, SessionError } from "../../src/domain/errors.js";
import { runClaims, sessionStoreClaims } from "../../src/testkit/claims/index.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";
import { RecordingSessionStore } from "../../src/testkit/fakes/recording-session-store.js";

describe("RecordingSessionStore keeps the claims of its port", () => {
  runClaims({
    test,
    claims: sessionStoreClaims,
    make: () => ({ store: new RecordingSessionStore() }),
    capabilities: { damage: { missing: "failLoad scripts it" }, reopen: { missing: "a fake is read where it is" } },
  });
});

describe("RecordingSessionStore", () => {
  test("records operations in order with revision, count and metadata, or the error", async () => {
    const store = new RecordingSessionStore();
    store.seed("s", { messages: [note("a")], metadata: { k: 1 } });
    await store.load("s", 0);
    await store.append("s", deltaOf("o", 1, [note("b")], { metadata: { k: 2 } }));
    await expect(store.save("s", { messages: [], metadata: {}, revision: 1 })).rejects.toThrow("is at revision 2");
    await store.delete("s");
    const seen = store.ops.map(({ type, id, outcome }) =>
      outcome.ok ? [type, id, outcome.revision, outcome.count, outcome.metadata] : [type, id, errorKind(outcome.error)],
    );
    expect(seen).toEqual([
      ["load", "s", 1, 1, { k: 1 }],
      ["append", "s", 2, 2, { k: 2 }],
      ["save", "s", "conflict"],
      ["delete", "s", 0, 0, {}],
    ]);
  });

  test("hands out records that later writes and callers cannot change", async () => {
    const store = new RecordingSessionStore();
    const delta = { operationId: "o", baseRevision: 0, messages: [note("a")] };
    await store.append("s", delta);
    const { ops } = store;
    delta.messages.push(note("late"));
    await store.append("s", deltaOf("p", 1, [note("b")]));
    expect(ops).toHaveLength(1);
    expect(ops[0]).toMatchObject({ type: "append", delta: { messages: [note("a")] }, outcome: { count: 1 } });
    expect(() => Object.assign(ops[0]?.outcome ?? {}, { ok: false })).toThrow(TypeError);
  });

  test("keeps the whole session after each write that took place", async () => {
    const store = new RecordingSessionStore();
    await store.append("s", deltaOf("o", 0, [note("a")]));
    await store.append("s", deltaOf("p", 0, [note("stale")])).catch(() => undefined);
    await store.append("s", deltaOf("q", 1, [note("b")]));
    expect(store.saveSnapshots().map(({ session }) => session.messages.map(({ id }) => id))).toEqual([
      ["a"],
      ["a", "b"],
    ]);
  });

  test("failLoad rejects every load of that session with that error", async () => {
    const store = new RecordingSessionStore();
    const corrupt = new SessionError("corrupt", "damaged");
    store.failLoad("s", corrupt);
    await expect(store.load("s")).rejects.toBe(corrupt);
    await expect(store.load("s")).rejects.toBe(corrupt);
    await expect(store.load("t")).resolves.toMatchObject({ revision: 0 });
    store.assertDone();
  });

  test("failSave rejects all later writes without effect, or the nth alone", async () => {
    const store = new RecordingSessionStore();
    store.failSave("all");
    store.failSave("one", { nth: 2 });
    await expect(store.append("all", deltaOf("o", 0, [note("a")]))).rejects.toMatchObject({ kind: "save" });
    await expect(store.save("all", { messages: [], metadata: {}, revision: 0 })).rejects.toMatchObject({
      kind: "save",
    });
    expect((await store.load("all")).revision).toBe(0);
    expect(await store.append("one", deltaOf("o", 0, [note("a")]))).toBe(1);
    await expect(store.append("one", deltaOf("p", 1, [note("b")]))).rejects.toMatchObject({ kind: "save" });
    expect(await store.append("one", deltaOf("p", 1, [note("b")]))).toBe(2);
    store.assertDone();
  });

  test("conflictOnce lets a foreign write in first: a retry on the old base fails again, one on the new base succeeds", async () => {
    const store = new RecordingSessionStore();
    store.conflictOnce("s");
    expect(await store.append("s", deltaOf("p", undefined, [], { metadata: { k: 1 } }))).toBe(0);
    await expect(store.append("s", deltaOf("o", 0, [note("a")]))).rejects.toMatchObject({ kind: "conflict" });
    await expect(store.append("s", deltaOf("o", 0, [note("a")]))).rejects.toMatchObject({ kind: "conflict" });
    const { revision, messages } = await store.load("s");
    expect(messages).toEqual([]);
    expect(await store.append("s", deltaOf("o", revision, [note("a")]))).toBe(revision + 1);
    store.assertDone();
  });

  test.each([
    ["failLoad", (store: RecordingSessionStore) => store.failLoad("s")],
    ["failSave", (store: RecordingSessionStore) => store.failSave("s")],
    ["conflictOnce", (store: RecordingSessionStore) => store.conflictOnce("s")],
  ])("assertDone is a defect while a %s was never met", (name, script) => {
    const store = new RecordingSessionStore();
    store.assertDone();
    script(store);
    expect(() => store.assertDone()).toThrow(Defect);
    expect(() => store.assertDone()).toThrow(`${name} of s was never met`);
  });
});

function errorKind(error: unknown): string {
  return error instanceof SessionError ? error.kind : "no SessionError";
}
