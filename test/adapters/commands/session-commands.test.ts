import { describe, expect, it } from "vitest";
import {
  sessionChange,
  type SessionCommandsOptions,
  sessionCommands,
} from "../../../src/adapters/commands/session-commands.js";
import type { CommandOutcome } from "../../../src/domain/command.js";
import { SESSION_KEYS } from "../../../src/domain/session.js";
import { stopResponse, type TestAgent, testAgent } from "../../../src/testkit/index.js";

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
    await test.agent.sessions.import("s1", {
      ...old,
      metadata: { ...old.metadata, [SESSION_KEYS.redirectedTo]: "s2" },
    });
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

describe("/export", () => {
  it("gives the whole session as JSON", async () => {
    await using test = await withSessions(1);
    expect(JSON.parse(textOf(await run(test, "/export", "s1")))).toEqual(
      JSON.parse(JSON.stringify(await test.agent.session("s1"))),
    );
  });

  it("hands text, wanted name and id to the host, and tells where it went", async () => {
    const written: unknown[] = [];
    await using test = await withSessions(1, {
      exportSession: (text, name, id) => {
        written.push([JSON.parse(text).messages.length, name, id]);
        return Promise.resolve("there");
      },
    });
    expect(textOf(await run(test, "/export 'my file'", "s1"))).toBe("2 messages written to there");
    expect(written).toEqual([[2, "my file", "s1"]]);
  });
});
