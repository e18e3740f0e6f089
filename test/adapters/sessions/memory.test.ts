import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../../src/adapters/sessions/memory.js";
import { adopt } from "../../../src/domain/adopt.js";
import { runClaims, sessionStoreClaims } from "../../../src/testkit/claims/index.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";

const nothingToDamage = { missing: "values live in this process" };

describe("MemorySessionStore keeps the claims of its port", () => {
  runClaims({
    test,
    claims: sessionStoreClaims,
    make: () => ({ store: new MemorySessionStore() }),
    capabilities: { damage: nothingToDamage, reopen: nothingToDamage },
  });
});

describe("MemorySessionStore", () => {
  test("shares adopted messages and copies all others", async () => {
    const store = new MemorySessionStore();
    const shared = adopt(note("shared"), "message");
    const plain = note("plain");
    await store.append("s", deltaOf("o", 0, [shared, plain]));
    const { messages } = await store.load("s");
    expect(messages[0]).toBe(shared);
    expect(messages[1]).not.toBe(plain);
    expect(messages[1]).toEqual(plain);
  });

  test("stamps a list by its clock and orders it by the last write, an operation applied before being none", async () => {
    let now = 10;
    const store = new MemorySessionStore({ now: () => now });
    await store.append("a", deltaOf("o", 0, [note("m")]));
    now = 5;
    await store.append("b", deltaOf("o", 0, [note("m")]));
    await store.append("a", deltaOf("o", 0, [note("m")]));
    const { items } = await store.list();
    expect(items.map(({ id, updatedAt }) => [id, updatedAt])).toEqual([
      ["b", 5],
      ["a", 10],
    ]);
  });

  test("answers for a known revision without touching the messages before it", async () => {
    const store = new MemorySessionStore();
    for (let i = 0; i < 1_000; i++) await store.append("s", deltaOf(`o${i}`, i, [note(`m${i}`)]));
    const { messages, from } = await store.load("s", 999);
    expect([from, messages.length]).toEqual([999, 1]);
  });
});
