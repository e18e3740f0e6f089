import { Agent, pinned, textOf, userMessage } from "ennead";
import { SummarizeCompressor } from "ennead/compressors/summarize";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse } from "ennead/testkit";

const model = new ScriptedModel([
  stopResponse("Noted."),
  stopResponse(`The whole plan: ${"walk, rest, look, ".repeat(90)}`),
  stopResponse("At nine."),
  { ...stopResponse("Good shoes."), usage: { inputTokens: 90, outputTokens: 10, totalTokens: 100 } },
]);
const summary = "<summary>A walk was planned, with many rests.</summary>";
const cheap = new ScriptedModel([
  { ...stopResponse(summary), usage: { inputTokens: 900, outputTokens: 60, totalTokens: 960 } },
]);

// #region summarize
const agent = await Agent.create({
  model,
  sessions: [new MemorySessionStore()],
  compressors: [new SummarizeCompressor({ model: cheap, maxTokens: 500, keepExchanges: 1 })],
});
// What is pinned stays in every request as it is.
await agent.runTurn(pinned(userMessage("My booking code is K9.")), "walk");
await agent.runTurn("Plan a walk.", "walk");
await agent.runTurn("When do we start?", "walk");
const turn = await agent.runTurn("What shall I bring?", "walk");

for (const message of model.requests.at(-1)?.messages ?? [])
  console.log(message.role, textOf(message).split("\n").at(-1));
//> user </summary>
//> user My booking code is K9.
//> user When do we start?
//> assistant At nine.
//> user What shall I bring?
console.log(turn.text, turn.usage.totalTokens);
//> Good shoes. 1060
// #endregion summarize

// #region originals
// The session keeps all: the summary is a record beside the originals.
const { messages, compaction } = await agent.session("walk");
console.log(messages.length, compaction?.messages.length, compaction?.upTo === messages[3]?.id);
//> 8 2 true

// Between turns, when somebody asks for it; here there is nothing left that is worth a summary.
console.log((await agent.compact("walk")).changed);
//> false
// #endregion originals
await agent.shutdown();
