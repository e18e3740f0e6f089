import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adopt } from "../../src/domain/adopt.js";
import { SessionLog } from "../../src/domain/session-log.js";
import { SessionLogs } from "../../src/domain/session-logs.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";
import { expectLikeReference, sessionCommands } from "../support/session-model.js";

describe("SessionLogs", () => {
  test("answer any history of writes as the reference does", async () => {
    await fc.assert(
      fc.asyncProperty(sessionCommands, async (commands) => {
        const logs = new SessionLogs();
        await expectLikeReference(
          {
            load: async (id, known) => logs.load(id, known),
            save: async (id, session, options = {}) => logs.save(id, session, options, 1),
            append: async (id, delta) => logs.append(id, delta, 1),
            delete: async (id) => logs.delete(id),
          },
          commands,
        );
      }),
      { numRuns: 300 },
    );
  });

  test("know no session after a first write that failed", () => {
    const logs = new SessionLogs();
    expect(() => logs.append("s", deltaOf("o", 3, [note("m")]), 1)).toThrow(
      "is at revision 0, the write is based on 3",
    );
    expect(logs.list({}).items).toEqual([]);
  });
});

describe("SessionLog", () => {
  test("reads, at an append, the new messages only", () => {
    const log = new SessionLog();
    const stamp = { at: 1, number: 1 };
    let reads = 0;
    const counted = (id: string): ReturnType<typeof note> => {
      const message = note(id);
      const content = message.content;
      return Object.defineProperty(message, "content", { enumerable: true, get: () => (reads++, content) });
    };
    for (let n = 0; n < 100; n++) log.append("s", deltaOf(`o${n}`, n, [counted(`m${n}`)]), stamp);
    expect(reads).toBe(100);
    log.append("s", deltaOf("adopted", 100, [adopt(note("m"), "message")]), stamp);
    expect(log.load(100)).toMatchObject({ from: 100, messages: [note("m")] });
  });

  test("a write that throws on its last message has changed nothing", () => {
    const log = new SessionLog();
    const stamp = { at: 1, number: 1 };
    log.append("s", deltaOf("o1", 0, [note("a")]), stamp);
    const bad = { ...note("b"), at: Number.POSITIVE_INFINITY };
    const compaction = { upTo: "a", messages: [] };
    const delta = deltaOf("o2", 1, [note("b"), bad], { metadata: { k: 1 }, compaction });
    expect(() => log.append("s", delta, { at: 2, number: 2 })).toThrow("message.at is a number that JSON cannot hold");
    expect(() => log.append("s", deltaOf("o2", 1, [], { metadata: { k: 1n as never }, compaction }), stamp)).toThrow();
    expect(log.load()).toEqual({ messages: [note("a")], metadata: {}, revision: 1 });
    expect(log.writeNumber).toBe(1);
  });
});
