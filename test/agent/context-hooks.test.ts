import { expect, test } from "vitest";
import { type AgentMessage, isMessage, userMessage } from "../../src/domain/message.js";
import type { CompressAction } from "../../src/ports/compressor.js";
import {
  RecordingCompressor,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { hookAt } from "../support/turns.js";

const long = "x".repeat(4_000);
const history = [user("u0", long), reply("a0"), user("u1", "my secret"), reply("a1", "your secret")];

const redacted = (message: AgentMessage): AgentMessage =>
  isMessage(message) ? JSON.parse(JSON.stringify(message).replaceAll("secret", "***")) : message;

/** Hides what is secret from the model, for each request anew; what is stored stays as it was. */
const redacting = hookAt("beforeContext", ({ messages }, context) =>
  context.next({ messages: messages.map(redacted) }),
);

const actions: readonly (readonly [string, CompressAction])[] = [
  ["view", { type: "view", messages: [userMessage("summary")] }],
  ["replace", { type: "replace", messages: [userMessage("summary")], upTo: "u0" }],
  [
    "newThread",
    {
      type: "newThread",
      messages: [userMessage("summary")],
      newSessionId: "child",
      messagesBefore: 5,
      messagesAfter: 3,
    },
  ],
];

test.each(actions)(
  "what a hook took out of the context stays out of the request that a %s makes (C1)",
  async (_, action) => {
    await using t = await testAgent({
      script: [stopResponse("done")],
      hooks: [redacting],
      compressors: [new RecordingCompressor([action])],
    });
    t.sessions.seed("s", { messages: history });
    await t.agent.runTurn("a secret", "s");
    expect(sent(t)[0]).toBe("user summary");
    expect(sent(t).at(-1)).toBe("user a ***");
    expect(JSON.stringify(t.model.requests)).not.toContain("secret");
  },
);

test("compressors see what a hook made of the context, and it holds for every round (C1)", async () => {
  const compressor = new RecordingCompressor();
  const script = [toolCallResponse("f", "c1"), stopResponse("done")];
  const tools = { f: toolOutcome.ok("a secret") };
  await using t = await testAgent({ script, tools, hooks: [redacting], compressors: [compressor] });
  t.sessions.seed("s", { messages: history });
  await t.agent.runTurn("hi", "s");
  expect(JSON.stringify(compressor.records)).not.toContain("secret");
  expect(sent(t)).toEqual([
    `user ${long}`,
    "assistant a0",
    "user my ***",
    "assistant your ***",
    "user hi",
    "calls c1",
    "c1 = a ***",
  ]);
  expect(await stored(t)).toEqual([...linesOf(history), "user hi", "calls c1", "c1 = a secret", "assistant done"]);
});

test("a context that a hook keeps is stored as a record, checked like a compressor's: the last exchange stays (C1)", async () => {
  const hook = hookAt("beforeContext", ({ messages }, context) =>
    messages.length > 3
      ? context.next({ messages: [userMessage("kept"), ...messages.slice(-1)], persist: true })
      : undefined,
  );
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], hooks: [hook] });
  t.sessions.seed("s", { messages: history });
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user kept", "assistant your secret", "user hi"]);
  expect(await stored(t)).toEqual([...linesOf(history), "user hi", "assistant one"]);
  expect(t.observer.ofType("contextReplaced")).toMatchObject([{ before: 5, after: 3, by: "beforeContext" }]);
  await t.agent.runTurn("more", "s");
  expect(sent(t)[0]).toBe("user kept");
});
