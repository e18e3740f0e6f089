import { Agent, type Lifecycle, type Observer } from "ennead";
import { CommandRegistry } from "ennead/commands/registry";
import { sessionChange, sessionCommands } from "ennead/commands/session-commands";
import { CompositeLifecycle } from "ennead/lifecycle/composite";
import { ConsoleObserver } from "ennead/observers/console";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { addNumbers } from "./parts/add-numbers.js";

// #region observer
/** Counts what turns use. It is called in the middle of a turn, so it must be quick; what it throws changes nothing. */
class Meter implements Observer {
  turns = 0;
  tools = 0;

  onEvent({ type }: Parameters<Observer["onEvent"]>[0]): void {
    if (type === "turnStarted") this.turns += 1;
    if (type === "toolCallResult") this.tools += 1;
  }
}
// #endregion observer

// #region lifecycle
/** Opens with the agent and closes with it. */
const part = (name: string): Lifecycle => ({
  name,
  onStart: async () => console.log(`${name} opens`),
  onShutdown: async () => console.log(`${name} closes`),
});
const connections = new CompositeLifecycle([part("database"), part("queue")], "connections");
// #endregion lifecycle

const meter = new Meter();
const model = new ScriptedModel([
  toolCallResponse("add_numbers", "call-1", { expression: "2 + 3" }),
  stopResponse("It is 5."),
]);

// #region commands
const commands = new CommandRegistry().register(
  {
    id: "used",
    description: "Tells what was used",
    aliases: ["usage"],
    params: [
      {
        name: "what",
        label: "What",
        description: "turns or tools",
        type: "string",
        required: true,
        positional: true,
        choices: ["turns", "tools"],
      },
    ],
  },
  ({ what }) => ({ type: "success", feedback: `${what === "turns" ? meter.turns : meter.tools} ${String(what)}` }),
);
// #endregion commands

// #region agent
const agent = await Agent.create({
  model,
  tools: [addNumbers],
  sessions: [new MemorySessionStore()],
  observers: [meter, new ConsoleObserver()],
  lifecycles: [connections],
  commands: [commands, sessionCommands()],
});
//> database opens
//> queue opens

await agent.runTurn("What is 2 + 3?", "sums");
//> → add_numbers {"expression":"2 + 3"}
//> ✓ add_numbers: 5
//> It is 5.
//> — completed, 2 rounds, 1 tool call, no token count
// #endregion agent

// #region run
// A command line as somebody typed it; what is no command is for the model.
for (const line of ["/used turns", "/usage tools", "/used tea", "used turns"]) {
  console.log(await agent.commands.run(line, { sessionId: "sums" }));
}
//> { type: 'success', feedback: '1 turns' }
//> { type: 'success', feedback: '1 tools' }
//> { type: 'failure', reason: '"what" takes one of: turns, tools' }
//> undefined

const forked = await agent.commands.run("/fork", { sessionId: "sums" });
const next = forked && sessionChange(forked);
console.log(typeof next === "string" && (await agent.session(next)).messages.length);
//> 4
// #endregion run

// #region shutdown
await agent.shutdown();
//> queue closes
//> database closes
// #endregion shutdown
