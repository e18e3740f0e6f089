import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type DeferredCall, SESSION_KEYS } from "ennead";
import { approval } from "ennead/hooks/approval";
import { SqliteSessionStore } from "ennead/sessions/sqlite";
import { ScriptedModel, stopResponse, toolCallsResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

const folder = await mkdtemp(join(tmpdir(), "ennead-"));
const path = join(folder, "sessions.db");

const pay = defineTool({
  name: "pay",
  description: "Pays an amount in euros.",
  parameters: Type.Object({ to: Type.String(), amount: Type.Number({ exclusiveMinimum: 0 }) }),
  execute: ({ to, amount }) => `Paid ${amount} to ${to}.`,
});
const balance = defineTool({
  name: "balance",
  description: "Tells how much there is.",
  parameters: Type.Object({}),
  annotations: { readOnlyHint: true },
  execute: () => "There are 100.",
});

// #region agent
/** What each process does when it starts; only the database is shared. */
async function start(model: ScriptedModel): Promise<Agent> {
  const store = new SqliteSessionStore({ path });
  return Agent.create({
    model,
    tools: [pay, balance],
    hooks: [approval({ hints: { readOnly: false } })],
    sessions: [store],
    lifecycles: [{ onShutdown: () => store.close() }],
  });
}
// #endregion agent

const asking = await start(
  new ScriptedModel([
    toolCallsResponse(
      { id: "call-1", name: "balance", arguments: {} },
      { id: "call-2", name: "pay", arguments: { to: "Ada", amount: 60 } },
      { id: "call-3", name: "pay", arguments: { to: "Eve", amount: 40 } },
    ),
  ]),
);
// #region defer
const asked = await asking.runTurn("Pay what we owe.", "bills");
console.log(
  asked.status,
  asked.toolResults.map(({ toolName }) => toolName),
);
//> deferred [ 'balance' ]
await asking.shutdown();
// #endregion defer

const deciding = await start(new ScriptedModel([stopResponse("Ada has her 50. Eve was not paid.")]));
// #region decide
// Another process, hours later: whoever decides reads what waits from the session.
const { metadata } = await deciding.session("bills");
for (const waiting of metadata[SESSION_KEYS.deferred] as readonly DeferredCall[]) {
  console.log(waiting.callId, waiting.toolName, waiting.arguments, waiting.reason);
}
//> call-2 pay { to: 'Ada', amount: 60 } needs approval
//> call-3 pay { to: 'Eve', amount: 40 } needs approval

const decided = await deciding.resumeTurn("bills", {
  decisions: [
    { callId: "call-2", approve: true, arguments: { to: "Ada", amount: 50 } },
    { callId: "call-3", approve: false, reason: "we owe Eve nothing" },
  ],
});
for (const { call, executedInput, outcome } of decided.exchanges) console.log(call.id, outcome, executedInput);
//> call-2 completed { to: 'Ada', amount: 50 }
//> call-3 not-started undefined
console.log(decided.status, decided.text);
//> completed Ada has her 50. Eve was not paid.
// #endregion decide

// #region twice
const again = deciding.resumeTurn("bills", { decisions: [{ callId: "call-2", approve: true }] });
await again.catch((error: Error) => console.log(error.message));
//> AgentError(invalid-input): decisions[0]: no call call-2 waits for a decision
// #endregion twice
await deciding.shutdown();
await rm(folder, { recursive: true });
