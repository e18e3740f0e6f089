import { describe, expect, it } from "vitest";
import {
  sessionChange,
  type SessionCommandsOptions,
  sessionCommands,
} from "../../../src/adapters/commands/session-commands.js";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import type { CommandOutcome } from "../../../src/domain/command.js";
import { userMessage } from "../../../src/domain/message.js";
import { SESSION_KEYS } from "../../../src/domain/session.js";
import {
  RecordingCompressor,
  stopResponse,
  type TestAgent,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";
import { textFrom } from "../../support/texts.js";

/** An agent with `count` stored sessions `s1`, `s2`... of one turn each; the last is the newest. */
async function withSessions(count: number, options?: SessionCommandsOptions): Promise<TestAgent> {
  const script = Array.from({ length: count }, (_, i) => stopResponse(`answer ${i + 1}`));
  const test = await testAgent({ script, commands: [sessionCommands(options)] });
  for (let i = 1; i <= count; i += 1) {
    await test.runtime.advance(60_000);
    await test.agent.runTurn(`question ${i}`, `s${i}`);
  }
  return test;
}

const run = async ({ agent }: TestAgent, line: string, sessionId?: string): Promise<CommandOutcome> => {
  const outcome = await agent.commands.run(line, { sessionId });
  if (outcome === undefined) throw new Error(`${line} was taken for a message`);
  return outcome;
};

const textOf = (outcome: CommandOutcome): string =>
  outcome.type === "success" ? outcome.feedback : outcome.type === "failure" ? outcome.reason : outcome.prompt;

describe("/new", () => {
  it("moves its user to a session that is yet to begin, and stores nothing", async () => {
    await using test = await withSessions(1);
    const outcome = await run(test, "/new", "s1");
    expect(sessionChange(outcome)).toBeNull();
    expect((await test.agent.sessions.list()).items).toHaveLength(1);
  });
});

describe("/sessions", () => {
  it("lists newest first, marks the current one and shows what the user said first", async () => {
    await using test = await withSessions(2);
    const lines = textOf(await run(test, "/sessions", "s1")).split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^ {3}1 .* 2 messages {2}s2 {2}question 2$/);
    expect(lines[1]).toMatch(/^\* {2}2 .* 2 messages {2}s1 {2}question 1$/);
  });

  it("says when there is none", async () => {
    await using test = await withSessions(0);
    expect(textOf(await run(test, "/sessions"))).toBe("No session is stored yet.");
  });
});

describe("/resume", () => {
  it.each([
    ["a number in the list", "1", "s12"],
    ["an exact id, also where it is the beginning of others", "s1", "s1"],
    ["the beginning of one id", "s12", "s12"],
    ["the beginning of one id", "s2", "s2"],
  ])("moves to the session meant by %s", async (_what, word, expected) => {
    await using test = await withSessions(12);
    expect(sessionChange(await run(test, `/resume ${word}`))).toBe(expected);
  });

  it.each([
    ["s", 'more than one session begins with "s"'],
    ["zzz", 'no session "zzz" is stored'],
    ["99", 'no session "99" is stored'],
    ['""', "name a session: /sessions lists them"],
  ])("stays where it is for %s", async (word, reason) => {
    await using test = await withSessions(2);
    const outcome = await run(test, `/resume ${word}`, "s1");
    expect(outcome).toEqual({ type: "failure", reason });
    expect(sessionChange(outcome)).toBeUndefined();
  });

  it("is told what is missing without an argument", async () => {
    await using test = await withSessions(1);
    expect(await run(test, "/resume")).toMatchObject({ type: "failure" });
  });

  it("follows a conversation that went on in another session", async () => {
    await using test = await withSessions(2);
    const old = await test.agent.session("s1");
    const moved = { ...old, metadata: { ...old.metadata, [SESSION_KEYS.redirectedTo]: "s2" } };
    await test.agent.sessions.import(moved, { id: "s1", replace: true });
    expect(sessionChange(await run(test, "/resume s1"))).toBe("s2");
  });
});

describe("/fork", () => {
  it("moves to a copy that grows on its own", async () => {
    await using test = await withSessions(1);
    const copy = sessionChange(await run(test, "/fork", "s1"));
    expect(copy).not.toBe("s1");
    test.model.push(stopResponse("more"));
    await test.agent.runTurn("again", copy ?? "");
    expect((await test.agent.session(copy ?? "")).messages).toHaveLength(4);
    expect((await test.agent.session("s1")).messages).toHaveLength(2);
  });

  it("fails in words before a session has begun", async () => {
    await using test = await withSessions(0);
    expect(await run(test, "/fork")).toEqual({ type: "failure", reason: "this session has not begun yet" });
  });
});

describe("/compact", () => {
  const summary = (): RecordingCompressor =>
    new RecordingCompressor([
      { type: "none" },
      { type: "none" },
      (messages) => ({ type: "replace", messages: [userMessage("[summary]")], upTo: messages[1]?.id }),
      { type: "none" },
    ]);

  it("has the compressors asked, and tells what came of it (C1)", async () => {
    const compressor = summary();
    const script = [stopResponse("a long first answer, of many words"), stopResponse("two")];
    await using test = await testAgent({ script, compressors: [compressor], commands: [sessionCommands()] });
    await test.agent.runTurn("a long first question, of many words", "s");
    await test.agent.runTurn("two?", "s");
    const outcome = await run(test, "/compact", "s");
    expect(textOf(outcome)).toBe("The model is sent 3 messages in place of 4; all of them stay stored.");
    expect(sessionChange(outcome)).toBe("s");
    expect(compressor.records.at(-1)?.reason).toBe("requested");
    expect(textOf(await run(test, "/compact", "s"))).toBe("Nothing was made smaller.");
  });

  it("moves its user to the session where the conversation goes on (S5)", async () => {
    const next = { type: "newThread", newSessionId: "s-2", messagesBefore: 4, messagesAfter: 1 } as const;
    const compressor = new RecordingCompressor([
      { type: "none" },
      { type: "none" },
      (messages) => ({ ...next, messages: messages.slice(-2) }),
    ]);
    const script = [stopResponse("one"), stopResponse("two")];
    await using test = await testAgent({ script, compressors: [compressor], commands: [sessionCommands()] });
    await test.agent.runTurn("one?", "s");
    await test.agent.runTurn("two?", "s");
    expect(sessionChange(await run(test, "/compact", "s"))).toBe("s-2");
  });

  it("says why it cannot now, and that there is nothing yet", async () => {
    const wait = defineHook("wait", { beforeTool: (_stage, context) => context.defer("later") });
    const script = [toolCallResponse("look", "c1")];
    const parts = { script, tools: { look: toolOutcome.ok("x") }, hooks: [wait], commands: [sessionCommands()] };
    await using test = await testAgent(parts);
    await test.agent.runTurn("go", "s");
    expect(await run(test, "/compact", "s")).toMatchObject({
      type: "failure",
      reason: expect.stringContaining("wait for a decision"),
    });
    expect(await run(test, "/compact")).toMatchObject({ type: "failure" });
  });
});

describe("/export", () => {
  it("gives the whole session as lines that can be imported", async () => {
    await using test = await withSessions(1);
    const text = textOf(await run(test, "/export", "s1"));
    await test.agent.sessions.import(text, { id: "copy" });
    const { messages, metadata } = await test.agent.session("s1");
    expect(await test.agent.session("copy")).toMatchObject({ messages, metadata });
  });

  it("hands lines, wanted name and id to the host, and tells where it went", async () => {
    const written: unknown[] = [];
    await using test = await withSessions(1, {
      exportSession: async (lines, name, id) => {
        written.push([(await textFrom(lines)).split("\n").length - 1, name, id]);
        return "there";
      },
    });
    expect(textOf(await run(test, "/export 'my file'", "s1"))).toBe("written to there");
    expect(written).toEqual([[3, "my file", "s1"]]);
  });
});
