import { Agent } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";
import { InMemoryResultStore, offloadResults } from "ennead/tools/offload";

const log = defineTool({
  name: "log",
  description: "Gives the whole log.",
  parameters: Type.Object({}),
  execute: () => Array.from({ length: 1_000 }, (_, line) => `line ${line}`).join("\n"),
});

// #region offload
const tools = offloadResults(log, { store: new InMemoryResultStore(), maxBytes: 1_024 });
// #endregion offload

const model = new ScriptedModel([toolCallResponse("log", "c1", {}), stopResponse("It is long.")]);
const agent = await Agent.create({ model, tools: [tools], sessions: [new MemorySessionStore()] });
const first = await agent.runTurn("What does the log say?", "logs");
const shown = JSON.stringify(first.toolResults[0]?.content);
console.log(shown.length < 1_300, /read on with (read_result)/.exec(shown)?.[1]);
//> true read_result

// What a model would do next: it has the id and the offset from the result.
const id = first.exchanges[0]?.executionId ?? "";
model.push(toolCallResponse("read_result", "c2", { id, offset: 8_881, limit: 100 }), stopResponse("I see."));
const next = await agent.runTurn("And at its end?", "logs");
console.log(next.toolResults[0]?.content[0]);
//> { type: 'text', text: 'line 999\n[8881 to 8889 of 8889: the end]' }
await agent.shutdown();
