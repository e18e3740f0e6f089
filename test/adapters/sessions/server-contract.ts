import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SessionPage } from "../../../src/domain/session.js";
import type { SessionStore } from "../../../src/ports/session-store.js";
import { runClaims, sessionStoreClaims, type SessionStoreFixture } from "../../../src/testkit/claims/index.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { expectLikeReference, sessionCommands } from "../../support/session-model.js";

type Fixture = AsyncDisposable &
  SessionStoreFixture & { readonly store: Required<SessionStore> & { list(): Promise<SessionPage> } };

/** What stores of many processes do alike: the claims with every capability, any history of writes, and what is large or in order. */
export function serverContract(make: () => Fixture, histories: number): void {
  describe("keeps the claims of its port", () => {
    runClaims({ test, claims: sessionStoreClaims, make, timeoutMs: PATIENCE_MS });
  });

  test("answers any history of writes as the reference does", async () => {
    await using fixture = make();
    const { store } = fixture;
    let history = 0;
    await fc.assert(
      fc.asyncProperty(sessionCommands, async (commands) => {
        const id = `s${history++}`;
        await expectLikeReference(
          {
            load: (_id, known) => store.load(id, known),
            save: (_id, session, options) => store.save(id, session, options),
            append: (_id, delta) => store.append(id, delta),
            delete: () => store.delete(id),
          },
          commands,
        );
      }),
      { numRuns: histories },
    );
  });

  test("a list is in the order of the last writes, an operation applied before being none", async () => {
    await using fixture = make();
    const { store } = fixture;
    for (const id of ["a", "b", "c"]) await store.append(id, deltaOf("o", 0, [note("m")]));
    await store.append("b", deltaOf("p", 1, [note("n")]));
    await store.append("a", deltaOf("o", 0, [note("m")]));
    expect((await store.list()).items.map(({ id }) => id)).toEqual(["b", "c", "a"]);
  });

  test("a session of 100,000 messages is saved and loaded whole, and what is new is loaded alone", async () => {
    await using fixture = make();
    const { store } = fixture;
    const messages = Array.from({ length: 100_000 }, (_, n) => note(`m${n}`, "x".repeat(200)));
    const revision = await store.save("s", { messages, metadata: {}, revision: 0 });
    // Texts, since comparing objects of this number takes longer than storing them.
    expect(JSON.stringify((await store.load("s")).messages) === JSON.stringify(messages)).toBe(true);
    await store.append("s", deltaOf("o", revision, [note("new")]));
    expect(await store.load("s", revision)).toMatchObject({ from: 100_000, messages: [note("new")] });
  });

  test("writers of one operation at the same time store it once and are all told its revision", async () => {
    await using fixture = make();
    const { store } = fixture;
    await store.append("s", deltaOf("first", 0, [note("a")]));
    const patch = deltaOf("patch", undefined, [], { metadata: { k: 1 } });
    const write = deltaOf("write", 1, [note("b")]);
    const all = await Promise.all([patch, write, patch, write, patch, write].map((delta) => store.append("s", delta)));
    expect(all.filter((_, n) => n % 2 === 1)).toEqual([2, 2, 2]);
    expect(new Set(all.filter((_, n) => n % 2 === 0)).size).toBe(1);
    expect(await store.load("s")).toEqual({ messages: [note("a"), note("b")], metadata: { k: 1 }, revision: 2 });
  });
}
