import { Agent, AgentError, createBudget } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { modelStep, ScriptedModel, stopResponse, textStream, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

const usage = { inputTokens: 200, outputTokens: 50 };

const researcher = await Agent.create({
  model: new ScriptedModel([
    { ...stopResponse("Tea is old."), usage },
    { ...stopResponse("Tea is green."), usage },
  ]),
  sessions: [new MemorySessionStore()],
});
const research = defineTool({
  name: "research",
  description: "Has a question looked into by another agent.",
  parameters: Type.Object({ question: Type.String() }),
  // A turn that is started in a tool draws from the budgets of the turn that called it.
  execute: async ({ question }) => (await researcher.runTurn(question)).text,
});

// #region shared
const budget = createBudget({
  maxModelCalls: 4,
  maxCost: 1,
  price: ({ inputTokens = 0, outputTokens = 0 }) => (inputTokens + 4 * outputTokens) / 100_000,
});
const agent = await Agent.create({
  model: new ScriptedModel([
    { ...toolCallResponse("research", "call-1", { question: "How old is tea?" }), usage },
    { ...toolCallResponse("research", "call-2", { question: "What colour is it?" }), usage },
    { ...stopResponse("Old and green."), usage },
  ]),
  tools: [research],
  sessions: [new MemorySessionStore()],
  config: { budget, maxOutputTokens: 1_000 },
});

const error: unknown = await agent.runTurn("Tell me about tea.", "tea").catch((thrown: unknown) => thrown);
if (!(error instanceof AgentError)) throw error;
console.log(error.kind, error.limit, error.partial?.rounds);
//> budget-exceeded maxModelCalls 2
const { modelCalls, totalTokens, cost } = budget.spent();
console.log({ modelCalls, totalTokens, cost: cost.toFixed(3) });
//> { modelCalls: 4, totalTokens: 1000, cost: '0.016' }
// #endregion shared

// #region more
// Nothing is lost: with another budget the turn goes on where it ended.
const more = await agent.resumeTurn("tea", { config: { budget: createBudget({ maxModelCalls: 1 }) } });
console.log(more.status, more.text);
//> completed Old and green.
// #endregion more

const slow = await Agent.create({
  model: new ScriptedModel([modelStep.hang(textStream("Once upon a time").slice(0, -1))]),
  sessions: [new MemorySessionStore()],
});
// #region time
const late: unknown = await slow
  .runTurn("Tell me a tale.", "tale", { config: { turnTimeoutMs: 50 } })
  .catch((thrown: unknown) => thrown);
if (!(late instanceof AgentError)) throw late;
console.log(late.kind, late.limit, late.partial?.text);
//> budget-exceeded turnTimeoutMs Once upon a time
// #endregion time
await Promise.all([agent, researcher, slow].map((each) => each.shutdown()));
