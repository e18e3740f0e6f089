import { Agent, okResult, type TurnResult } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { defineTool, type DefinedTool, Type } from "ennead/tools";

// #region tool
/** Ends the turn after its batch: whoever runs the agents gives the conversation to the one that was named. */
const handOffTo = (name: string, description: string): DefinedTool =>
  defineTool({
    name: `hand_off_to_${name}`,
    description,
    parameters: Type.Object({ reason: Type.String() }),
    annotations: { readOnlyHint: true },
    execute: ({ reason }) => okResult(`Handed to ${name}: ${reason}`, { details: { handOff: name }, terminate: true }),
  });
// #endregion tool

// One store: the agents see the same conversation, each with its own instructions and tools.
const sessions = [new MemorySessionStore()];
const agents: Readonly<Record<string, Agent>> = {
  desk: await Agent.create({
    model: new ScriptedModel([toolCallResponse("hand_off_to_billing", "c1", { reason: "a bill is wrong" })]),
    tools: [handOffTo("billing", "For everything about money.")],
    sessions,
    config: { system: "You greet people and find out who can help." },
  }),
  billing: await Agent.create({
    model: new ScriptedModel([stopResponse("I have corrected your bill."), stopResponse("You are welcome.")]),
    tools: [handOffTo("desk", "For everything else.")],
    sessions,
    config: { system: "You look after bills." },
  }),
};

// #region run
const MOST_HANDOFFS = 4;

/** Runs a turn with the agent that has the conversation, then with each that it is handed to. Returns who has it in the end. */
async function run(start: string, input: string, sessionId: string): Promise<{ who: string; result: TurnResult }> {
  let who = start;
  let result = await agentNamed(who).runTurn(input, sessionId);
  for (let handoffs = 0; handoffs < MOST_HANDOFFS; handoffs++) {
    const next = handedTo(result);
    if (next === undefined) break;
    who = next;
    // The last message is the result of the call, so there is no new input: the next agent goes on from there.
    result = await agentNamed(who).resumeTurn(sessionId);
  }
  return { who, result };
}

function handedTo({ toolResults }: TurnResult): string | undefined {
  const details = toolResults.map((message) => message.details as { readonly handOff?: string } | undefined);
  return details.findLast((one) => one?.handOff !== undefined)?.handOff;
}
// #endregion run

function agentNamed(name: string): Agent {
  const agent = agents[name];
  if (agent === undefined) throw new Error(`there is no agent ${name}`);
  return agent;
}

const first = await run("desk", "My bill is wrong.", "customer-1");
console.log(first.who, first.result.text);
//> billing I have corrected your bill.
const second = await run(first.who, "Thank you!", "customer-1");
console.log(second.who, second.result.text);
//> billing You are welcome.
const { messages } = await agentNamed("desk").session("customer-1");
console.log(messages.map(({ role }) => role));
//> [ 'user', 'assistant', 'tool', 'assistant', 'user', 'assistant' ]
for (const agent of Object.values(agents)) await agent.shutdown();
