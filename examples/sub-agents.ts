import { Agent, createBudget } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { Type } from "ennead/tools";
import { type AgentToolProgress, agentTool, subAgentUsage } from "ennead/tools/agent-tool";

const spending = (text: string) => ({ ...stopResponse(text), usage: { inputTokens: 90, outputTokens: 10 } });

// #region tool
const researcher = await Agent.create({
  model: new ScriptedModel([spending('{"answer":"under the sofa","sure":true}')]),
  sessions: [new MemorySessionStore()],
  config: { system: "You find things. Answer in JSON." },
});
const research = agentTool(researcher, {
  name: "research",
  description: "Finds something out. Knows nothing but what it is told.",
  parameters: Type.Object({ question: Type.String(), room: Type.String() }),
  input: ({ question, room }) => `${question} It was last seen in the ${room}.`,
  result: Type.Object({ answer: Type.String(), sure: Type.Boolean() }),
});
// #endregion tool

const budget = createBudget({ maxTotalTokens: 100_000 });
const agent = await Agent.create({
  model: new ScriptedModel([
    toolCallResponse("research", "c1", { question: "Where is the cat?", room: "kitchen" }),
    spending("It is under the sofa."),
  ]),
  tools: [research],
  sessions: [new MemorySessionStore()],
});
const turn = agent.startTurn("Where is the cat?", "home", { budget });
turn.subscribe((event) => {
  if (event.type !== "toolCallProgress") return;
  const { type } = (event.partial as unknown as AgentToolProgress).event;
  if (type === "turnStarted" || type === "turnCompleted") console.log("research:", type);
});
const result = await turn.result;
//> research: turnStarted
//> research: turnCompleted
console.log(result.text, result.toolResults[0]?.structured);
//> It is under the sofa. { answer: 'under the sofa', sure: true }
console.log(subAgentUsage(result.exchanges).outputTokens, budget.spent().modelCalls);
//> 10 3
await agent.shutdown();
await researcher.shutdown();
