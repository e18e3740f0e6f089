import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { ModelError } from "../../src/domain/errors.js";
import { estimateAll } from "../../src/domain/estimate.js";
import { userMessage } from "../../src/domain/message.js";
import type { CompressAction } from "../../src/ports/compressor.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  type CompressStep,
  modelStep,
  RecordingCompressor,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import {
  calling,
  leaseOf,
  linesOf,
  reply,
  result,
  SaveOnlyStore,
  sent,
  stored,
  user,
  writeElsewhere,
} from "../support/conversations.js";
import { thenNothing } from "../support/then-nothing.js";
import { callsOf, expectLawful, hookAt, rejectionOf, unhandledDuring } from "../support/turns.js";

const long = (word: string): string => `${word} ${"x".repeat(2_000)}`;
const history = [
  user("u0", long("u0")),
  reply("a0", long("a0")),
  user("u1"),
  calling("a1", "c1"),
  result("r1", "c1", "one"),
  reply("a2"),
];
const summary = userMessage("summary");
const none: CompressStep = { type: "none" };
const replace: CompressStep = () => ({ type: "replace", messages: [summary], upTo: "a0" });
const thread: CompressStep = (messages) => ({
  type: "newThread",
  newSessionId: "child",
  messages: [summary, ...messages.slice(2)],
  messagesBefore: messages.length,
  messagesAfter: messages.length - 1,
});
const AFTER = ["user summary", "user u1", "calls c1", "c1 = one", "assistant a2"];

/** An agent whose session "s" holds the history; the compressor makes these proposals, one a request. */
async function compacting(steps: readonly CompressStep[], options: TestAgentOptions = {}) {
  const compressor = new RecordingCompressor(thenNothing(steps));
  const t = await testAgent({ compressors: [compressor], tools: { f: toolOutcome.ok("fine") }, ...options });
  t.sessions.seed("s", { messages: history, metadata: { user: "ann" } });
  return Object.assign(t, { compressor });
}

const writes = (t: TestAgent): string[] =>
  t.sessions.ops.filter(({ type }) => type === "append" || type === "save").map(({ id }) => id);

/** Nothing was written, and the session is what it was. */
async function expectUntouched(t: TestAgent): Promise<void> {
  expect(writes(t)).toEqual([]);
  const session = await t.agent.session("s");
  expect(linesOf(session.messages)).toEqual(linesOf(history));
  expect([session.compaction, session.metadata]).toEqual([undefined, expect.objectContaining({ user: "ann" })]);
}

describe("compact with a replacement (C1)", () => {
  test("stores it as a record: the next request shrinks, the originals stay", async () => {
    await using t = await compacting([replace], { script: [stopResponse("yes")] });
    expect(await t.agent.compact("s")).toEqual({ sessionId: "s", changed: true, before: 6, after: 5 });
    expect(t.compressor.records).toMatchObject([{ reason: "requested", sessionId: "s" }]);
    expect(t.compressor.records[0]?.estimatedTokens).toBe(estimateAll(history));
    expect(await stored(t)).toEqual(linesOf(history));
    expect((await t.agent.session("s")).compaction).toMatchObject({ upTo: "a0" });
    await t.agent.runTurn("hi", "s");
    expect(sent(t)).toEqual([...AFTER, "user hi"]);
    await expectLawful(t, "s");
  });

  test("takes one compared write, and leaves no lease", async () => {
    await using t = await compacting([replace]);
    const { revision } = await t.agent.session("s");
    await t.agent.compact("s");
    const [write] = t.sessions.ops.filter(({ type }) => type === "append");
    expect(writes(t)).toEqual(["s"]);
    expect(write).toMatchObject({ delta: { baseRevision: revision, messages: [] }, outcome: { ok: true } });
    expect(leaseOf(await t.agent.session("s"))).toBeUndefined();
  });

  test("is no turn: no model call, no event, no usage, no timer that stays", async () => {
    await using t = await compacting([replace]);
    await t.agent.compact("s");
    expect([t.model.callCount, t.observer.events, t.secondaryFailures]).toEqual([0, [], []]);
    expect(await t.agent.usage("s")).toBeUndefined();
    await t.agent.shutdown();
    expect(t.runtime.pendingTimers).toBe(0);
  });

  test("is written to the mirrors too", async () => {
    const [first, mirror] = [new RecordingSessionStore(), new RecordingSessionStore()];
    await using t = await compacting([replace], { sessions: [first, mirror], script: [stopResponse("yes")] });
    first.seed("s", { messages: history });
    mirror.seed("s", { messages: history });
    await t.agent.compact("s");
    const [one, two] = await Promise.all([first.load("s"), mirror.load("s")]);
    expect(one.compaction).toMatchObject({ upTo: "a0" });
    expect([two.compaction, linesOf(two.messages)]).toEqual([one.compaction, linesOf(one.messages)]);
    await t.agent.runTurn("hi", "s");
    expect(linesOf((await mirror.load("s")).messages)).toEqual(linesOf((await first.load("s")).messages));
  });

  test("is right for an agent that has the conversation in its cache", async () => {
    const script = [stopResponse("one"), stopResponse("two"), stopResponse("three")];
    await using t = await compacting([none, replace], { script });
    await t.agent.runTurn("hi", "s");
    expect((await t.agent.compact("s")).changed).toBe(true);
    await t.agent.runTurn("more", "s");
    const now = [...AFTER, "user hi", "assistant one", "user more"];
    expect(sent(t)).toEqual(now);
    await t.agent.runTurn("again", "s");
    expect(sent(t)).toEqual([...now, "assistant two", "user again"]);
    expect(await stored(t)).toHaveLength(history.length + 6);
  });

  test("may be done again on what it left", async () => {
    const twice: CompressStep = () => ({ type: "replace", messages: [userMessage("less")], upTo: "r1" });
    await using t = await compacting([replace, twice], { script: [stopResponse("yes")] });
    await t.agent.compact("s");
    expect(await t.agent.compact("s")).toMatchObject({ changed: true, before: 5 });
    await t.agent.runTurn("hi", "s");
    expect(sent(t)[0]).toBe("user less");
  });
});

describe("compact with a new thread (S5)", () => {
  test("goes on in the child, which knows where it comes from; the parent says where it went", async () => {
    await using t = await compacting([thread], { script: [stopResponse("yes"), stopResponse("more")] });
    expect(await t.agent.compact("s")).toEqual({ sessionId: "child", changed: true, before: 6, after: 5 });
    const [parent, child] = [await t.agent.session("s"), await t.agent.session("child")];
    expect(child.metadata).toMatchObject({ user: "ann", parent_session_id: "s" });
    expect(parent.metadata).toMatchObject({ user: "ann", "ennead.redirected_to": "child" });
    expect([leaseOf(parent), leaseOf(child)]).toEqual([undefined, undefined]);
    expect([linesOf(parent.messages), linesOf(child.messages)]).toEqual([linesOf(history), AFTER]);
    expect(writes(t)).toEqual(["child", "s"]);
    expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
    await t.agent.runTurn("hi", "child");
    expect(sent(t)).toEqual([...AFTER, "user hi"]);
  });

  test("writes both to the mirrors", async () => {
    const [first, mirror] = [new RecordingSessionStore(), new RecordingSessionStore()];
    await using t = await compacting([thread], { sessions: [first, mirror] });
    for (const store of [first, mirror]) store.seed("s", { messages: history });
    await t.agent.compact("s");
    for (const store of [first, mirror]) {
      expect(linesOf((await store.load("child")).messages)).toEqual(AFTER);
      expect((await store.load("s")).metadata).toMatchObject({ "ennead.redirected_to": "child" });
    }
  });

  test("into a session that exists is refused, and nothing is written", async () => {
    await using t = await compacting([thread]);
    t.sessions.seed("child", { messages: [user("u9")] });
    expect(await rejectionOf(t.agent.compact("s"))).toMatchObject({ kind: "session" });
    await expectUntouched(t);
    expect(await stored(t, "child")).toEqual(["user u9"]);
  });

  test("a session that went on elsewhere is refused", async () => {
    await using t = await compacting([thread, replace]);
    await t.agent.compact("s");
    const error = await rejectionOf(t.agent.compact("s"));
    expect(error).toMatchObject({ kind: "session" });
    expect(error.message).toContain("child");
  });
});

describe("compact changes and writes nothing (C1)", () => {
  test.each<[string, CompressStep | undefined, unknown[]]>([
    ["without a compressor", undefined, []],
    ["where there is nothing to do", none, []],
    [
      "for a view, which holds for one request",
      (messages) => ({ type: "view", messages: [summary, ...messages.slice(2)] }),
      [],
    ],
    [
      "for what does not shrink",
      (messages) => ({
        type: "replace",
        messages: [userMessage(long("more")), userMessage(long("and much more"))],
        upTo: messages[1]?.id,
      }),
      ["refused"],
    ],
    ["for what is no action", { type: "smaller" } as never, ["TypeError"]],
  ])("%s", async (_, step, failures) => {
    await using t = await compacting(
      step === undefined ? [] : [step],
      step === undefined ? { compressors: [], script: [stopResponse("yes")] } : { script: [stopResponse("yes")] },
    );
    expect(await t.agent.compact("s")).toEqual({ sessionId: "s", changed: false, before: 6, after: 6 });
    expect(t.secondaryFailures.map(({ errorCategory }) => errorCategory)).toEqual(failures);
    await expectUntouched(t);
    await t.agent.runTurn("hi", "s");
    expect(sent(t)).toEqual([...linesOf(history), "user hi"]);
  });

  test("for a session that is not there", async () => {
    await using t = await compacting([none]);
    expect(await t.agent.compact("nobody")).toEqual({ sessionId: "nobody", changed: false, before: 0, after: 0 });
    expect(writes(t)).toEqual([]);
  });
});

describe("compact is refused (C1)", () => {
  test("while calls wait for a decision, which stays possible", async () => {
    const asking = hookAt("beforeTool", (_, context) =>
      context.decision === undefined ? context.defer("ask") : undefined,
    );
    await using t = await compacting([none, replace], { script: [callsOf("f")], hooks: [asking] });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("deferred");
    const before = writes(t).length;
    expect(await rejectionOf(t.agent.compact("s"))).toMatchObject({ kind: "session" });
    expect([writes(t).length, t.compressor.records.length]).toEqual([before, 1]);
    t.model.push(stopResponse("done"));
    const decided = await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect(decided.text).toBe("done");
  });

  test("while a turn has the session elsewhere, and is possible when that one's lease is dead (S2)", async () => {
    await using t = await compacting([replace], { config: { turnLeaseMs: 1_000 } });
    await writeElsewhere(t.sessions, "s", { metadata: { "ennead.turn": { turnId: "elsewhere", until: 1 } } });
    const before = writes(t).length;
    expect(await rejectionOf(t.agent.compact("s"))).toMatchObject({ kind: "session" });
    expect([writes(t).length, t.compressor.records.length]).toEqual([before, 0]);
    await t.runtime.advance(1_001);
    expect((await t.agent.compact("s")).changed).toBe(true);
  });

  test("to a tool of a turn on the session itself, which would wait for itself", async () => {
    let refused: unknown;
    const provider: ToolProvider = {
      name: "own",
      listTools: () => [toolDef("own")],
      execute: async () => void (refused = await rejectionOf(t.agent.compact("s"))),
    };
    await using t = await compacting([none, none, none], {
      script: [callsOf("own"), stopResponse("yes")],
      providers: [provider],
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(refused).toMatchObject({ kind: "session" });
  });
});

describe("compact and others", () => {
  test("it waits for a turn of the same agent, and a turn waits for it (T1)", async () => {
    const slow = Promise.withResolvers<CompressAction>();
    const answer = Promise.withResolvers<ReturnType<typeof stopResponse>>();
    const order: string[] = [];
    const compressor = {
      name: "slow",
      compress: async (_: unknown, { reason }: { readonly reason: string }) => {
        order.push(reason);
        return reason === "requested" ? slow.promise : { type: "none" as const };
      },
    };
    await using t = await compacting([], {
      compressors: [compressor],
      script: [modelStep.respond(answer.promise), stopResponse("second")],
    });
    const first = t.agent.runTurn("one", "s");
    await t.runtime.advance(0);
    const compacted = t.agent.compact("s");
    await t.runtime.advance(0);
    const second = t.agent.runTurn("two", "s");
    await t.runtime.advance(0);
    expect(order).toEqual(["before-model"]);
    answer.resolve(stopResponse("first"));
    await first;
    await t.runtime.advance(0);
    expect([order, t.model.callCount]).toEqual([["before-model", "requested"], 1]);
    slow.resolve({ type: "replace", messages: [summary], upTo: "a0" });
    expect((await compacted).changed).toBe(true);
    await second;
    expect(sent(t)).toEqual([...AFTER, "user one", "assistant first", "user two"]);
  });

  test("somebody who writes meanwhile wins: the session's error, and nothing of the record is stored", async () => {
    await using t = await compacting([replace]);
    t.sessions.conflictOnce("s");
    const error = await rejectionOf(t.agent.compact("s"));
    expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
    expect((await t.agent.session("s")).compaction).toBeUndefined();
    t.model.push(stopResponse("yes"));
    await t.agent.runTurn("hi", "s");
    expect(sent(t)).toEqual([...linesOf(history), "user hi"]);
  });

  test("a store that cannot be read or written is the session's error", async () => {
    await using unread = await compacting([replace]);
    unread.sessions.failLoad("s");
    expect(await rejectionOf(unread.agent.compact("s"))).toMatchObject({ kind: "session", cause: { kind: "load" } });
    await using unwritten = await compacting([replace]);
    unwritten.sessions.failSave("s");
    expect(await rejectionOf(unwritten.agent.compact("s"))).toMatchObject({ kind: "session", cause: { kind: "save" } });
    expect((await unwritten.agent.session("s")).compaction).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ["an error of its own", new RangeError("secret key"), "RangeError"],
    ["a model's error", new ModelError("rate-limit", "slow down"), "slow down"],
    ["what is no error", "secret text", "string"],
  ])("a compressor that throws %s fails it as an AgentError, and the session works", async (_, thrown, told) => {
    await using t = await compacting(
      [
        () => {
          throw thrown;
        },
      ],
      { script: [stopResponse("yes")] },
    );
    const unhandled = await unhandledDuring(async () => {
      const error = await rejectionOf(t.agent.compact("s"));
      expect(error).toMatchObject({ kind: "runtime", cause: thrown });
      expect(error.message).toContain(told);
      expect(error.message).not.toContain("secret");
    });
    expect(unhandled).toEqual([]);
    await expectUntouched(t);
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    await t.agent.shutdown();
    expect(t.runtime.pendingTimers).toBe(0);
  });

  test("calls that a crash left open stay the business of the next turn", async () => {
    await using t = await compacting([replace], { script: [stopResponse("yes")] });
    t.sessions.seed("s", { messages: [...history, user("u2"), calling("a3", "c9")] });
    expect((await t.agent.compact("s")).changed).toBe(true);
    expect(await stored(t)).toHaveLength(8);
    await t.agent.runTurn("hi", "s");
    expect(sent(t).slice(-3, -1).join()).toMatch(/calls c9,c9 = !/);
    await expectLawful(t, "s");
  });

  test("a session in a store that only saves is compacted too", async () => {
    const store = new SaveOnlyStore(new MemorySessionStore());
    await store.save("s", { messages: history, metadata: {}, revision: 0 });
    await using t = await testAgent({ sessions: [store], compressors: [new RecordingCompressor([replace])] });
    expect((await t.agent.compact("s")).changed).toBe(true);
    expect((await store.load("s")).compaction).toMatchObject({ upTo: "a0" });
  });
});
