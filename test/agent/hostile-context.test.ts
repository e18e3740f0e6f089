import { describe, expect, test } from "vitest";
import { assistantMessage, userMessage } from "../../src/domain/message.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { CompressAction } from "../../src/ports/compressor.js";
import { RecordingCompressor, RecordingSessionStore, stopResponse, testAgent } from "../../src/testkit/index.js";
import { calling, reply, sent, stored, user } from "../support/conversations.js";
import { hookAt, rejectionOf } from "../support/turns.js";

const history = [user("u0", "x".repeat(4_000)), reply("a0"), user("u1"), reply("a1")];

describe("an answer of a compressor that is no action is dropped and reported, and the turn goes on (C1)", () => {
  test.each<[string, unknown]>([
    ["null", null],
    ["nothing", undefined],
    ["text", "replace"],
    ["an unknown type", { type: "shrink", messages: [userMessage("s")] }],
    ["no messages", { type: "replace" }],
    ["messages that are no list", { type: "view", messages: "all" }],
    ["messages that are none", { type: "view", messages: [7] }],
    ["an upTo that is no id", { type: "replace", messages: [userMessage("s")], upTo: 7 }],
    [
      "a thread without an id",
      { type: "newThread", messages: [userMessage("s")], messagesBefore: 1, messagesAfter: 1 },
    ],
    ["a thread without counts", { type: "newThread", messages: [userMessage("s")], newSessionId: "child" }],
  ])("%s", async (_, answer) => {
    const compressor = new RecordingCompressor([() => answer as CompressAction], "mine");
    await using t = await testAgent({ script: [stopResponse("done")], compressors: [compressor] });
    t.sessions.seed("s", { messages: history });
    const { finalSessionId } = await t.agent.runTurn("hi", "s");
    expect(finalSessionId).toBe("s");
    expect(sent(t)).toHaveLength(5);
    expect((await t.agent.session("s")).compaction).toBeUndefined();
    expect(t.observer.ofType("custom")).toMatchObject([
      { label: "secondary_failure", data: { stage: "compress", operation: "mine", errorCategory: "TypeError" } },
    ]);
  });
});

test("an action that does not shrink the conversation is dropped, and that is reported (C1)", async () => {
  const action: CompressAction = { type: "replace", messages: [userMessage("y".repeat(9_000))] };
  await using t = await testAgent({
    script: [stopResponse("done")],
    compressors: [new RecordingCompressor([action], "mine")],
  });
  t.sessions.seed("s", { messages: history });
  await t.agent.runTurn("hi", "s");
  expect(t.observer.ofType("custom")).toMatchObject([{ data: { operation: "mine", errorCategory: "refused" } }]);
});

test("a TypeError of the store on the way of an action is a failure of the store, and no drop", async () => {
  const action: CompressAction = { type: "replace", messages: [userMessage("summary")] };
  const store = new RecordingSessionStore();
  const append = store.append.bind(store);
  store.append = async (id, delta) => {
    if (delta.compaction !== undefined) throw new TypeError("broken");
    return append(id, delta);
  };
  const compressors = [new RecordingCompressor([action])];
  await using t = await testAgent({ script: [stopResponse("done")], compressors, sessions: [store] });
  store.seed("s", { messages: history });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
});

describe("messages a hook gives", () => {
  test.each([true, false])("an empty list never becomes an empty request: persist %s (C1)", async (persist) => {
    const hook = hookAt("beforeContext", (_, context) => context.next({ messages: [], persist }), "emptier");
    await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
    t.sessions.seed("s", { messages: history });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "hook-aborted" });
    expect(error.message).toContain("hook emptier failed at beforeContext");
    expect(t.model.callCount).toBe(0);
    expect((await t.agent.session("s")).compaction).toBeUndefined();
    expect(await stored(t)).toHaveLength(5);
  });

  test.each(["beforeContext", "beforeModel"] as const)(
    "a list that ends with the assistant is a throw of that hook: %s (T1)",
    async (kind) => {
      const hook = hookAt(
        kind,
        (_, context) => context.next({ messages: [userMessage("a"), assistantMessage("b")] } as never),
        "ender",
      );
      await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
      const error = await rejectionOf(t.agent.runTurn("hi", "s"));
      expect(error).toMatchObject({ kind: "hook-aborted" });
      expect(error.message).toContain(`hook ender failed at ${kind}`);
      expect(t.model.callCount).toBe(0);
    },
  );

  test.each(["beforeContext", "beforeModel"] as const)("calls without results get them: %s (S4)", async (kind) => {
    const hook = hookAt(kind, (_, context) =>
      context.next({ messages: [userMessage("a"), calling("a9", "c9"), userMessage("b")] } as never),
    );
    await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
    await t.agent.runTurn("hi", "s");
    const messages = t.model.requests[0]?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(transcriptLaw(messages)).toEqual([]);
  });

  test("a list that is kept may be longer than what it stands for, and keeps the newest user message as the hook made it (C1)", async () => {
    const hook = hookAt("beforeContext", ({ messages }, context) =>
      context.next({
        messages: messages.map((message) => JSON.parse(JSON.stringify(message).replaceAll("secret", "[redacted]"))),
        persist: true,
      }),
    );
    await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
    t.sessions.seed("s", { messages: [user("u0", "a secret"), reply("a0", "a secret")] });
    await t.agent.runTurn("my secret", "s");
    expect(sent(t)).toEqual(["user a [redacted]", "assistant a [redacted]", "user my [redacted]"]);
  });
});
