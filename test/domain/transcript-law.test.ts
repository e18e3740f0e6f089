import fc from "fast-check";
import { expect, test } from "vitest";
import { type AgentMessage, isMessage, toolCallsOf } from "../../src/domain/message.js";
import { orderResults } from "../../src/domain/transcript.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { assertTranscriptLaw } from "../../src/testkit/index.js";
import { calling, reply, result, user } from "../support/conversations.js";

const callId = fc.constantFrom("c1", "c2", "c3");
const message: fc.Arbitrary<(id: string) => AgentMessage> = fc.oneof(
  fc.constant((id: string) => user(id)),
  fc.constant((id: string) => reply(id)),
  fc.array(callId, { minLength: 1, maxLength: 3 }).map((ids) => (id: string) => calling(id, ...ids)),
  callId.map((of) => (id: string) => result(id, of)),
);
const transcripts = fc
  .array(message, { maxLength: 12 })
  .map((makers) => makers.map((make, index) => make(`m${index}`)));
const pendings = fc.array(callId, { maxLength: 2 });

/** The same law, written down without cleverness: who answers whom first, then where each answer has to stand. */
function naiveLaw(messages: readonly AgentMessage[], pending: readonly string[]): string[] {
  const calls = messages.flatMap((owner, at) =>
    isMessage(owner) && owner.role === "assistant"
      ? toolCallsOf(owner).map(({ id }, order) => ({ at, order, id }))
      : [],
  );
  const answers = new Map<(typeof calls)[number], number>();
  const faults: string[] = [];
  messages.forEach((answer, at) => {
    if (!isMessage(answer) || answer.role !== "tool") return;
    const open = calls.filter((call) => call.id === answer.toolCallId && call.at < at && !answers.has(call));
    const nearest = Math.max(...open.map((call) => call.at));
    const own = open.find((call) => call.at === nearest);
    if (own === undefined) faults.push(`orphan-result ${at}`);
    else answers.set(own, at);
  });
  const excuses = [...pending];
  for (const call of [...calls].reverse()) {
    const at = answers.get(call);
    const excuse = excuses.indexOf(call.id);
    if (at === undefined && excuse >= 0) excuses.splice(excuse, 1);
    else if (at === undefined) faults.push(`missing-result ${call.at}`);
    if (at === undefined) continue;
    const siblings = calls.filter((other) => other.at === call.at && answers.has(other));
    if (at > call.at + siblings.length) faults.push(`not-adjacent ${call.at}`);
    else if (at !== call.at + 1 + siblings.filter(({ order }) => order < call.order).length)
      faults.push(`out-of-order ${call.at}`);
  }
  return faults.sort();
}

test("the law agrees with a check that goes call by call (S4)", () => {
  fc.assert(
    fc.property(transcripts, pendings, fc.boolean(), (history, pending, ordered) => {
      const messages = ordered ? orderResults(history) : history;
      const found = transcriptLaw(messages, { pending }).map(({ kind, index }) => `${kind} ${index}`);
      expect(found.sort()).toEqual(naiveLaw(messages, pending));
    }),
    { numRuns: 2_000 },
  );
});

test("each entry of pending excuses one call of its id, the newest", () => {
  const history = [calling("m0", "c1"), calling("m1", "c1", "c2")];
  const missing = (pending: readonly string[]) =>
    transcriptLaw(history, { pending }).map(({ messageId, callId: id }) => `${messageId} ${id}`);
  expect(missing(["c1"])).toEqual(["m0 c1", "m1 c2"]);
  expect(missing(["c1", "c1", "c2"])).toEqual([]);
});

test("a violation says in one safe line where it is and what is wrong there", () => {
  const hostile = "c\u0000\n\u202e1";
  const history = [
    calling("a\nb", hostile, "c2", "c3"),
    result("m1", "c3"),
    result("m2", "c2"),
    result("m3", "c2"),
    result("m4", "c9"),
    calling("m5", "c5"),
    user("m6"),
    result("m7", "c5"),
  ];
  expect(transcriptLaw(history).map(({ text }) => text)).toEqual([
    'message "ab" (index 0): call "c1" has no result',
    'message "ab" (index 0): the result of call "c2" is out of the order of the calls',
    'message "ab" (index 0): the result of call "c3" is out of the order of the calls',
    'message "m3" (index 3): one more result of call "c2", which has its result',
    'message "m4" (index 4): a result of call "c9", which nobody made before',
    'message "m5" (index 5): the result of call "c5" does not follow directly',
  ]);
});

test("a stored session keeps the law apart from the calls it says are pending (S4, U5)", () => {
  const messages = [user("m0"), calling("m1", "c1", "c2"), result("m2", "c2")];
  const record = { callId: "c1", executionId: "m1.0", toolName: "f", arguments: {}, reason: "ask", at: 1 };
  const session = { messages, metadata: { [SESSION_KEYS.deferred]: [record] } };
  expect(() => assertTranscriptLaw(session)).not.toThrow();
  expect(() => assertTranscriptLaw({ ...session, metadata: {} })).toThrow(
    /breaks the law in 1 place.*\n.*"c1" has no result/,
  );
  expect(() => assertTranscriptLaw([...messages, result("m3", "c2")], { pending: ["c1"] })).toThrow(/one more result/);
});
