import { describe, expect, test } from "vitest";
import { SlidingWindowCompressor } from "../../src/adapters/compressors/sliding-window.js";
import { adopt } from "../../src/domain/adopt.js";
import { type AgentMessage, userMessage } from "../../src/domain/message.js";
import { isPinned, pinned, PINNED_KEY } from "../../src/domain/pins.js";
import { type CompressStep, RecordingCompressor, stopResponse, testAgent } from "../../src/testkit/index.js";
import { calling, linesOf, reply, result, sent, user } from "../support/conversations.js";
import { expectLawful } from "../support/turns.js";

const pin = <M extends AgentMessage>(message: M): M =>
  adopt({ ...message, metadata: { [PINNED_KEY]: true } }, "pinned");
const long = (word: string): string => `${word} ${"x".repeat(2_000)}`;
const history = [
  user("u0", long("u0")),
  pin(user("rule", "my code is K9")),
  reply("a0", long("a0")),
  user("u1"),
  calling("a1", "c1", "c2"),
  result("r1", "c1", "one"),
  pin(result("r2", "c2", "two")),
  reply("a2"),
  user("u2"),
  pin(reply("a3", "agreed")),
  user("u3", long("u3")),
  reply("a4", long("a4")),
];
const KEPT = ["user my code is K9", "user u1", "calls c1,c2", "c1 = one", "c2 = two", "user u2", "assistant agreed"];
const summary = userMessage("summary");

async function compressing(step: CompressStep) {
  const script = [stopResponse("done"), stopResponse("more")];
  const t = await testAgent({ script, compressors: [new RecordingCompressor([step])] });
  t.sessions.seed("s", { messages: history });
  return t;
}

describe("a pinned message, its exchange and the question before it stay in every request (C1)", () => {
  test("when a view leaves them out", async () => {
    await using t = await compressing(() => ({ type: "view", messages: [summary] }));
    await t.agent.runTurn("hi", "s");
    expect(sent(t)).toEqual(["user summary", ...KEPT, `assistant ${long("a4")}`, "user hi"]);
    await expectLawful(t, "s");
  });

  test("when a view has changed copies of them in another order", async () => {
    await using t = await compressing((messages) => ({
      type: "view",
      messages: messages
        .filter(({ id }) => id !== "u0" && id !== "a0")
        .toReversed()
        .map((message) => ({ ...message, ...(isPinned(message) ? { content: [], parts: [] } : {}) }) as AgentMessage),
    }));
    await t.agent.runTurn("hi", "s");
    expect(sent(t).filter((line) => KEPT.includes(line))).toEqual(KEPT);
  });

  test("when a record replaces everything, on the next load and under the next record too", async () => {
    await using t = await compressing(() => ({ type: "replace", messages: [summary] }));
    await t.agent.runTurn("hi", "s");
    const shown = ["user summary", ...KEPT, "assistant " + long("a4"), "user hi"];
    expect(sent(t)).toEqual(shown);
    const again = new RecordingCompressor([() => ({ type: "replace", messages: [userMessage("less")] })]);
    await using next = await testAgent({ script: [stopResponse("on")], sessions: [t.sessions], compressors: [again] });
    await next.agent.runTurn("later", "s", { turnId: "another" });
    expect(sent(next)).toEqual(["user less", ...KEPT, "assistant done", "user later"]);
    expect(linesOf((await next.agent.session("s")).messages).slice(0, 12)).toEqual(linesOf(history));
  });

  test("when the conversation goes on in a new thread", async () => {
    const thread = { type: "newThread", newSessionId: "child", messagesBefore: 13, messagesAfter: 2 } as const;
    await using t = await compressing(() => ({ ...thread, messages: [summary] }));
    await t.agent.runTurn("hi", "s");
    const child = await t.agent.session("child");
    expect(linesOf(child.messages).slice(1, 8)).toEqual(KEPT);
    expect(child.messages.filter(isPinned)).toHaveLength(3);
  });

  test("when a window is narrower than they are", async () => {
    await using t = await testAgent({
      script: [stopResponse("done")],
      compressors: [new SlidingWindowCompressor({ maxMessages: 1 })],
    });
    t.sessions.seed("s", { messages: history });
    await t.agent.runTurn("hi", "s");
    expect(sent(t).filter((line) => KEPT.includes(line))).toEqual(KEPT);
    expect(sent(t).at(-1)).toBe("user hi");
  });
});

test("input may be pinned as it is given, and the pin is stored with the message", async () => {
  await using t = await compressing({ type: "none" });
  await t.agent.runTurn(pinned(userMessage("remember", { metadata: { by: "ann" } })), "s");
  const stored = (await t.agent.session("s")).messages.at(-2);
  expect(stored).toMatchObject({ metadata: { by: "ann", "ennead.pinned": true } });
  expect([stored !== undefined && isPinned(stored), isPinned(user("u"))]).toEqual([true, false]);
});

test("only the value true pins: metadata is whatever applications write", () => {
  for (const value of ["true", 1, null, {}, false]) {
    expect(isPinned(adopt({ ...user("u"), metadata: { [PINNED_KEY]: value } }, "user"))).toBe(false);
  }
});
