import { Agent, EMPTY_TURN_VIEW, turnView } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { modelStep, ScriptedModel, stopResponse, textStream } from "ennead/testkit";

const model = new ScriptedModel();
const agent = await Agent.create({ model, sessions: [new MemorySessionStore()] });
const chunks = textStream("Tea is a plant.", 2);
model.push(modelStep.stream(chunks), modelStep.stream(chunks), stopResponse("Tea is a plant."));

// #region text
// Text as it comes. It throws at the end of a turn that failed.
const turn = agent.startTurn("What is tea?");
for await (const piece of turn.text()) console.log(piece);
//> Tea is a
//>  plant.
console.log((await turn.result).status);
//> completed
// #endregion text

// #region events
// Everything else as events: text, reasoning, calls, progress, results.
for await (const event of agent.startTurn("What is tea?")) {
  if (event.type === "streamChunk" && event.chunk.type === "textDelta") console.log(event.chunk.text);
}
//> Tea is a
//>  plant.
// #endregion events

// #region view
// What a user interface shows, folded from the events.
let view = EMPTY_TURN_VIEW;
agent.subscribe((event) => void (view = turnView(view, event)));
await agent.runTurn("What is tea?");
console.log(view.status, view.messages.length);
//> completed 2
// #endregion view
await agent.shutdown();
