import { expect, test } from "vitest";
import type { Decision } from "../../src/ports/hook.js";
import { approve, deferred, ran, reject } from "../support/resuming.js";
import { rejectionOf } from "../support/turns.js";

const noDecisions: readonly (readonly [string, unknown, string])[] = [
  ["about a call nobody knows", [approve("c9")], "decisions[0]: no call c9 waits"],
  ["about a call that has its result", [approve("c2")], "decisions[0]: no call c2 waits"],
  ["twice about one call", [approve("c1"), reject("c1")], "decisions[1]: call c1 is decided twice"],
  ["about one call that waits and one that does not", [approve("c1"), reject("c9")], "decisions[1]: no call c9"],
  ["that is nothing", [null], "decisions[0]: no decision"],
  ["that is a list", [[]], "decisions[0]: no decision"],
  ["that is a hole in the list", new Array<unknown>(1), "decisions[0]: no decision"],
  ["that is a text", ["c1"], "decisions[0]: no decision"],
  ["without a call id", [{ approve: true }], "decisions[0]: callId"],
  ["with a number for a call id", [{ callId: 1, approve: true }], "decisions[0]: callId"],
  ["without a word", [{ callId: "c1" }], "decisions[0]: approve"],
  ["with a text for a word", [{ callId: "c1", approve: "true" }], "decisions[0]: approve"],
  ["with one word for all arguments", [{ callId: "c1", approve: true, arguments: "x" }], "decisions[0]: arguments"],
  ["with a list of arguments", [{ callId: "c1", approve: true, arguments: [] }], "decisions[0]: arguments"],
  ["with null for arguments", [{ callId: "c1", approve: true, arguments: null }], "decisions[0]: arguments"],
  [
    "with arguments that are no JSON",
    [approve("c1"), { ...approve("c3", { n: 1 }), arguments: { n: 1n } }],
    "decisions[1]:",
  ],
  ["with a misspelt field", [{ callId: "c1", approve: true, args: {} }], "decisions[0]: args"],
  ["that rejects without a reason", [{ callId: "c1", approve: false }], "decisions[0]: a rejection needs a reason"],
  [
    "that rejects with a number",
    [{ callId: "c1", approve: false, reason: 1 }],
    "decisions[0]: a rejection needs a reason",
  ],
  ["in no list", { callId: "c1", approve: true }, "decisions are a list"],
  ["in null", null, "decisions are a list"],
];

test.each(noDecisions)(
  "a decision %s is refused by name: nothing is written, nothing runs (U5)",
  async (_, given, told) => {
    await using s = await deferred(["c1", "c3"]);
    const before = await s.store.load("s");
    const decisions = given as readonly Decision[];
    const error = await rejectionOf(s.b.agent.resumeTurn("s", { decisions }));
    expect(error.kind).toBe("invalid-input");
    expect(error.message).toContain(told);
    expect(await s.store.load("s")).toEqual(before);
    expect([ran(s.b), s.b.model.callCount]).toEqual([[], 0]);
    // All that was pending can still be decided.
    const all = await s.b.agent.resumeTurn("s", { decisions: [approve("c1"), reject("c3")] });
    expect(all).toMatchObject({ status: "completed", text: "done" });
  },
);

test("a decision is copied when it is given: what the caller changes later counts for nothing (U5)", async () => {
  await using s = await deferred(["c1"]);
  const args: Record<string, number> = { n: 1 };
  const decisions: Decision[] = [approve("c1", args)];
  const turn = s.b.agent.resumeTurn("s", { decisions });
  args["n"] = 2;
  decisions.length = 0;
  await turn;
  expect(s.b.tools.execRecords).toMatchObject([{ callId: "c1", arguments: { n: 1 } }]);
});
