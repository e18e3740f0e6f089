import { describe, expect, test } from "vitest";
import { SummarizeCompressor } from "../../src/adapters/compressors/summarize.js";
import { ScriptedModel, stopResponse, testAgent, type TestAgent } from "../../src/testkit/index.js";
import { linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { expectLawful } from "../support/turns.js";

const long = (word: string): string => `${word} ${"word ".repeat(300)}`;
const history = [user("u0", long("u0")), reply("a0", long("a0")), user("u1"), reply("a1"), user("u2"), reply("a2")];

/** An agent whose session "s" was compacted: one summary for all but the last exchange. */
async function compacted(script: readonly string[]): Promise<TestAgent & { readonly summaries: ScriptedModel }> {
  const summaries = new ScriptedModel([stopResponse("First summary."), stopResponse("Second summary.")]);
  const t = await testAgent({
    script: script.map(stopResponse),
    compressors: [new SummarizeCompressor({ model: summaries, keepExchanges: 1 })],
  });
  t.sessions.seed("s", { messages: history });
  expect(await t.agent.compact("s")).toMatchObject({ changed: true, before: 6, after: 3 });
  return Object.assign(t, { summaries });
}

const summarised = (lines: readonly string[]): string[] => lines.filter((line) => line.includes("summary."));

describe("a session that was compacted (C1)", () => {
  test("keeps its originals, and requests begin with the summary", async () => {
    await using t = await compacted(["yes"]);
    await t.agent.runTurn("hi", "s");
    expect(sent(t).slice(1)).toEqual(["user u2", "assistant a2", "user hi"]);
    expect(sent(t)[0]).toContain("First summary.");
    expect(await stored(t)).toEqual([...linesOf(history), "user hi", "assistant yes"]);
    await expectLawful(t, "s");
  });

  test("is the same when it was exported and imported", async () => {
    await using t = await compacted(["yes"]);
    let text = "";
    for await (const line of t.agent.sessions.export("s")) text += line;
    await t.agent.sessions.import(text, { id: "copy" });
    await t.agent.runTurn("hi", "copy");
    expect(sent(t)[0]).toContain("First summary.");
    expect(await stored(t, "copy")).toEqual([...linesOf(history), "user hi", "assistant yes"]);
  });

  test("is the same when it was forked, and a fork goes its own way", async () => {
    await using t = await compacted(["in the fork", "in the first"]);
    const id = await t.agent.sessions.fork("s");
    await t.agent.runTurn("hi", id);
    expect(sent(t)[0]).toContain("First summary.");
    await t.agent.runTurn("hello", "s");
    expect([summarised(sent(t)).length, sent(t).includes("user hi")]).toEqual([1, false]);
    expect(await stored(t, id)).toHaveLength(8);
  });

  test("may be compacted again: one summary stands for the first and for what came since", async () => {
    await using t = await compacted([long("b0"), long("b1"), "yes"]);
    await t.agent.runTurn(long("q0"), "s");
    await t.agent.runTurn("q1", "s");
    expect(await t.agent.compact("s")).toMatchObject({ changed: true });
    expect(JSON.stringify(t.summaries.requests[1]?.messages)).toContain("First summary.");
    await t.agent.runTurn("q2", "s");
    expect(summarised(sent(t))).toEqual([expect.stringContaining("Second summary.")]);
    expect(await stored(t)).toHaveLength(12);
  });

  test("is not compacted for nothing: again at once, it stays as it is and no model is asked", async () => {
    await using t = await compacted([]);
    const { revision } = await t.agent.session("s");
    expect(await t.agent.compact("s")).toMatchObject({ changed: false });
    expect([t.summaries.callCount, (await t.agent.session("s")).revision]).toEqual([1, revision]);
  });
});

describe("compact with a model of summaries", () => {
  test.each([
    ["that is not there", []],
    ["of one message", [user("u0")]],
    ["of one turn", [user("u0"), reply("a0")]],
  ])("leaves a session %s alone, and asks nobody", async (_, messages) => {
    const summaries = new ScriptedModel([]);
    await using t = await testAgent({ compressors: [new SummarizeCompressor({ model: summaries })] });
    if (messages.length > 0) t.sessions.seed("s", { messages });
    expect(await t.agent.compact("s")).toMatchObject({ changed: false });
    expect(summaries.callCount).toBe(0);
  });

  test("waits for a running turn, and sees what it said", async () => {
    const answer = Promise.withResolvers<ReturnType<typeof stopResponse>>();
    const summaries = new ScriptedModel([stopResponse("All of it.")]);
    const model = { chat: () => answer.promise };
    await using t = await testAgent({
      model,
      compressors: [new SummarizeCompressor({ model: summaries, keepExchanges: 1 })],
    });
    t.sessions.seed("s", { messages: history });
    const turn = t.agent.runTurn("hi", "s");
    await t.runtime.advance(0);
    const done = t.agent.compact("s");
    await t.runtime.advance(0);
    expect(summaries.callCount).toBe(0);
    answer.resolve(stopResponse("hello"));
    await turn;
    expect(await done).toMatchObject({ changed: true, before: 8 });
    expect((await t.agent.session("s")).compaction?.upTo).toBe("a2");
  });
});
