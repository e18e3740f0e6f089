import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoadedSession } from "../../../src/domain/session.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { type JsonlFixture, jsonlFixture } from "./jsonl-fixture.js";

/** Writes a short history, and answers the session after each of its writes, the empty one first. */
async function history({ store }: JsonlFixture): Promise<readonly LoadedSession[]> {
  const states = [await store.load("s")];
  await store.save("s", { messages: [note("a")], metadata: { k: "\u{1f600}" }, revision: 0 });
  states.push(await store.load("s"));
  for (const [n, id] of ["b", "c"].entries()) {
    await store.append("s", deltaOf(id, n + 1, [note(id, `é "${id}"`)], { metadata: { [id]: n } }));
    states.push(await store.load("s"));
  }
  return states;
}

test("a file cut at any byte is the session as some write left it, and goes on from there", async () => {
  await using fixture = jsonlFixture();
  const states = await history(fixture);
  const bytes = readFileSync(fixture.fileOf("s"));
  const [saved, whole] = [bytes.indexOf("\n"), bytes.indexOf("\n", bytes.indexOf("\n") + 1)];
  let longest = 0;
  for (let length = 0; length <= bytes.length; length++) {
    writeFileSync(fixture.fileOf("s"), bytes.subarray(0, length));
    const store = fixture.reopen();
    // A saved session was whole when its file was put in place, so the lack of its messages is no work of a writer that died.
    if (saved <= length && length < whole) {
      await expect(store.load("s")).rejects.toMatchObject({
        kind: "corrupt",
        message: expect.stringMatching(/ line [12] is damaged$/),
      });
      continue;
    }
    const { revision, messages } = await store.load("s");
    expect(states).toContainEqual(await store.load("s"));
    expect(revision).toBeGreaterThanOrEqual(longest);
    longest = revision;
    expect(await store.append("s", deltaOf("next", revision, [note("n")]))).toBe(revision + 1);
    expect((await fixture.reopen().load("s")).messages).toEqual([...messages, note("n")]);
    await store.close();
  }
  expect(longest).toBe(3);
});

const change = fc.oneof(
  fc.record({ type: fc.constant("flip" as const), at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ type: fc.constant("remove" as const), at: fc.nat(), length: fc.integer({ min: 1, max: 80 }) }),
  fc.record({
    type: fc.constant("insert" as const),
    at: fc.nat(),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 20 }),
  }),
);

test("bytes changed anywhere before the last record are corrupt, or change nothing of the session", async () => {
  await using fixture = jsonlFixture();
  const last = (await history(fixture)).at(-1);
  const bytes = readFileSync(fixture.fileOf("s"));
  const changeable = bytes.lastIndexOf("\n", -2);
  await fc.assert(
    fc.asyncProperty(change, async (changed) => {
      const at = changed.at % changeable;
      const end =
        changed.type === "insert" ? at : Math.min(changeable, at + (changed.type === "flip" ? 1 : changed.length));
      const instead =
        changed.type === "flip" ? [(bytes[at] ?? 0) ^ changed.by] : changed.type === "insert" ? changed.bytes : [];
      writeFileSync(
        fixture.fileOf("s"),
        Buffer.concat([bytes.subarray(0, at), Buffer.from(instead), bytes.subarray(end)]),
      );
      const store = fixture.reopen();
      const found: unknown = await store.load("s").catch((error: unknown) => error);
      if (found instanceof Error)
        expect(found).toMatchObject({ name: "SessionError", kind: expect.stringMatching(/corrupt|load/) });
      else expect(found).toEqual(last);
      await store.close();
    }),
    { numRuns: 1_000 },
  );
});
