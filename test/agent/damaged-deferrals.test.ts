import { expect, test } from "vitest";
import type { JsonObject } from "../../src/domain/json.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { stored, user } from "../support/conversations.js";
import { approve, FINE, pendingIn, ran } from "../support/resuming.js";
import { rejectionOf } from "../support/turns.js";

const record = { callId: "c1", executionId: "a.0", toolName: "f", arguments: {}, reason: "ask", at: 1 };
const damaged: readonly (readonly [string, unknown])[] = [
  ["is no list", "c1"],
  ["is an object", record],
  ["holds what is no record", [null, 7, "c1", []]],
  ["names no call id", [{ ...record, callId: undefined }]],
  ["names another call's id", [{ ...record, callId: "c2" }]],
  ["names an execution of nobody", [{ ...record, executionId: "a.7" }]],
  ["names no tool", [{ ...record, toolName: 7 }]],
  ["has arguments that are no object", [{ ...record, arguments: [] }]],
  ["has no arguments", [{ ...record, arguments: undefined }]],
  ["has no reason", [{ ...record, reason: undefined }]],
  ["has no time", [{ ...record, at: "now" }]],
];

test.each(damaged)(
  "a stored record that %s makes no call pending: its outcome is unknown (U5, S6)",
  async (_, value) => {
    await using t = await testAgent({ script: [stopResponse("done")], tools: FINE });
    const part = (id: string) => ({ type: "toolCall" as const, id, name: "f", arguments: {} });
    const reply = { role: "assistant" as const, id: "a", at: 1, parts: [part("c1")] };
    const metadata = JSON.parse(JSON.stringify({ [SESSION_KEYS.deferred]: value })) as JsonObject;
    t.sessions.seed("s", { messages: [user("go"), reply], metadata });
    const error = await rejectionOf(t.agent.resumeTurn("s", { decisions: [approve("c1")] }));
    expect(error.kind).toBe("invalid-input");
    const result = await t.agent.resumeTurn("s");
    expect(result).toMatchObject({ status: "completed", deferred: [], toolResults: [{ outcome: "unknown" }] });
    expect(ran(t)).toEqual([]);
    expect(await stored(t)).toHaveLength(4);
  },
);

test("of two stored records about one call the first counts, and one decision is enough (U5)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], tools: FINE });
  const reply = {
    role: "assistant" as const,
    id: "a",
    at: 1,
    parts: [{ type: "toolCall" as const, id: "c1", name: "f", arguments: {} }],
  };
  const records = [
    { ...record, arguments: { n: 1 } },
    { ...record, arguments: { n: 2 } },
  ];
  t.sessions.seed("s", { messages: [user("go"), reply], metadata: { [SESSION_KEYS.deferred]: records } });
  expect((await t.agent.resumeTurn("s")).deferred).toHaveLength(1);
  const result = await t.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(result).toMatchObject({ status: "completed", exchanges: [{ executedInput: { n: 1 } }] });
  expect(pendingIn(await t.agent.session("s"))).toEqual([]);
});

test("a stale record that no open call belongs to is passed over (U5)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], tools: FINE });
  t.sessions.seed("s", { messages: [user("go")], metadata: { [SESSION_KEYS.deferred]: [record] } });
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "done", deferred: [] });
});
