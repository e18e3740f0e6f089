import { Agent, isMessage, type Message, textOf, type TurnResult } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { modelStep, ScriptedModel, stopResponse, textStream, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

const search = defineTool({
  name: "search",
  description: "Finds papers.",
  parameters: Type.Object({ topic: Type.String() }),
  annotations: { readOnlyHint: true },
  execute: ({ topic }) => `12 papers about ${topic}`,
});
const model = new ScriptedModel();
const agent = await Agent.create({ model, tools: [search], sessions: [new MemorySessionStore()] });

function show({ status, stopReason, messages }: TurnResult): void {
  for (const message of messages.filter(isMessage)) console.log(`${message.role}: ${said(message)}`);
  console.log(status, stopReason ?? "");
}

function said(message: Message): string {
  const stopped = message.role === "assistant" && message.stopped !== undefined ? ` (${message.stopped})` : "";
  return `${textOf(message)}${stopped}`;
}

model.push(toolCallResponse("search", "call-1", { topic: "tea" }), stopResponse("3 are new."), stopResponse("Sent."));
// #region steer
const steered = agent.startTurn("Which papers about tea are there?");
steered.followUp("Then send them to me.");
steered.subscribe((event) => {
  // The tool runs: its result comes first, then what was said meanwhile.
  if (event.type === "toolCallStarted") steered.steer("Only those of this year.");
});
show(await steered.result);
//> user: Which papers about tea are there?
//> assistant:
//> tool: 12 papers about tea
//> user: Only those of this year.
//> assistant: 3 are new.
//> user: Then send them to me.
//> assistant: Sent.
//> completed
// #endregion steer

model.push(modelStep.hang(textStream("Tea is a plant. Its history begins").slice(0, -1)), stopResponse("A plant."));
// #region interrupt
const interrupted = agent.startTurn("What is tea?");
interrupted.subscribe((event) => {
  if (event.type !== "streamChunk") return;
  interrupted.steer("In two words, please.");
  interrupted.interrupt();
});
show(await interrupted.result);
//> user: What is tea?
//> assistant: Tea is a plant. Its history begins (interrupted)
//> user: In two words, please.
//> assistant: A plant.
//> completed
// #endregion interrupt

model.push(modelStep.hang(textStream("There are many kinds:").slice(0, -1)));
// #region abort
const aborted = agent.startTurn("Which kinds are there?");
aborted.subscribe((event) => {
  if (event.type !== "streamChunk") return;
  aborted.steer("Only green ones.");
  aborted.abort("the user left");
});
const result = await aborted.result;
show(result);
//> user: Which kinds are there?
//> assistant: There are many kinds: (aborted)
//> aborted the user left
console.log(result.undelivered.filter(isMessage).map(textOf), aborted.steer("Hello?"));
//> [ 'Only green ones.' ] false
// #endregion abort
await agent.shutdown();
