import { describe, expect, test } from "vitest";
import { SlidingWindowCompressor } from "../../src/adapters/compressors/sliding-window.js";
import { InMemoryMemory } from "../../src/adapters/memory/in-memory.js";
import { SqliteMemory } from "../../src/adapters/memory/sqlite.js";
import { NoopMemory } from "../../src/adapters/memory/noop.js";
import { type AgentMessage, type MessageInput, textOf } from "../../src/domain/message.js";
import { assistantMessage, toolResultMessage, userMessage } from "../../src/domain/message.js";
import { okResult } from "../../src/domain/tool.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";

const asking = (id: string): MessageInput => assistantMessage([{ type: "toolCall", id, name: "f", arguments: {} }]);
const answering = (id: string): MessageInput =>
  toolResultMessage({ id, name: "f", arguments: {} }, okResult(`r-${id}`));

/** The last request of a turn on a session that holds `history`, under a window. */
async function requestAfter(history: readonly MessageInput[], maxMessages: number, system?: string) {
  await using agents = await testAgent({
    script: [stopResponse("done")],
    compressors: [new SlidingWindowCompressor({ maxMessages })],
    config: system === undefined ? {} : { system },
  });
  const messages = history.map((message, index) => ({ ...message, id: `h.${index}`, at: index }) as AgentMessage);
  agents.sessions.seed("s", { messages });
  await agents.agent.runTurn("newest", "s");
  return agents.model.requests[0]?.messages ?? [];
}

describe("windows", () => {
  const longTurn = [
    userMessage("t0"),
    ...["c1", "c2", "c3"].flatMap((id) => [asking(id), answering(id)]),
    assistantMessage("fin"),
  ];

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])("F148: a window of %d cuts no call from its result", async (maxMessages) => {
    const messages = await requestAfter(longTurn, maxMessages);
    expect(transcriptLaw(messages)).toEqual([]);
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.length).toBeLessThan(9);
  });

  test("F150: a call that never got a result has one in the request, or is not in it", async () => {
    const history = [userMessage("q"), assistantMessage("x"), userMessage("do"), asking("c1")];
    for (const maxMessages of [1, 2, 3, 4]) expect(transcriptLaw(await requestAfter(history, maxMessages))).toEqual([]);
  });

  test("F153: the system prompt is in every request once, whatever the window", async () => {
    const messages = await requestAfter(longTurn, 2, "RULE-7");
    expect(messages.filter((message) => textOf(message).includes("RULE-7")).map((message) => message.role)).toEqual([
      "system",
    ]);
    expect(messages[0]?.role).toBe("system");
  });

  test("F155: keeping nothing keeps the newest user message, and not everything", async () => {
    const history = [userMessage("one"), asking("c1"), answering("c1"), assistantMessage("two")];
    const messages = await requestAfter(history, 0);
    expect(messages.map(textOf)).toEqual(["newest"]);
  });
});

describe.each([
  ["in-memory", () => new InMemoryMemory()],
  ["noop", () => new NoopMemory()],
  ["SQLite", () => new SqliteMemory({ path: ":memory:" })],
])("%s memory", (_name, make) => {
  test.each(["", " ", "\n", "!!!", '"', "*"])("F204: a query of %j finds nothing and throws nothing", async (query) => {
    const memory = make();
    for (const content of ["a", "b"]) await memory.store({ content });
    expect(await memory.search({ query, threshold: -1 })).toEqual([]);
  });
});

/** Entries whose vectors have these cosines with that of the query. */
async function vectorMemory(cosines: Record<string, number>): Promise<SqliteMemory> {
  const vectorOf = (text: string): number[] => [cosines[text] ?? 1, Math.sqrt(1 - (cosines[text] ?? 1) ** 2)];
  const memory = new SqliteMemory({ path: ":memory:", embedding: { embed: vectorOf } });
  for (const id of Object.keys(cosines)) await memory.store({ id, content: id });
  return memory;
}

describe("a memory with scores of vectors", () => {
  const scores: Record<string, number> = { far: 0.1, same: 1, opposite: -0.4, near: 0.6 };

  test.each([
    [0.5, ["same", "near"]],
    [0.6, ["same", "near"]],
    [0, ["same", "near", "far"]],
    [-1, ["same", "near", "far", "opposite"]],
    [undefined, ["same", "near", "far", "opposite"]],
  ])("F206: a threshold of %s keeps what is at least that near, best first", async (threshold, expected) => {
    const memory = new InMemoryMemory({ score: (_query, { id }) => scores[id] });
    for (const id of Object.keys(scores)) await memory.store({ id, content: id });
    const hits = await memory.search({ query: "x", threshold });
    expect(hits.map((hit) => hit.id)).toEqual(expected);
    expect(hits.map((hit) => hit.score)).toEqual(expected.map((id) => scores[id]));
    const byVector = await vectorMemory(scores).then((sqlite) => sqlite.search({ query: "x", threshold }));
    expect(byVector.map(({ id, score }) => [id, score])).toEqual(hits.map(({ id, score }) => [id, score]));
  });
});
