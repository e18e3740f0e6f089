import { Agent, type AgentMessage, isMessage, type Message, type MessageInput, textOf, userMessage } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse } from "ennead/testkit";

// #region declare
/** A message of the application's own. It is stored with the others, and no model sees it unless it is projected. */
type SensorReading = { readonly role: "sensor"; readonly id: string; readonly at: number; readonly celsius: number };

declare module "ennead" {
  interface CustomMessages {
    readonly sensor: SensorReading;
  }
}

/** What a model is shown of the conversation; asked before every model call, after compression. */
function toModelMessages(messages: readonly AgentMessage[]): readonly (Message | MessageInput)[] {
  return messages.flatMap((message): readonly (Message | MessageInput)[] => {
    if (isMessage(message)) return [message];
    return message.role === "sensor" ? [userMessage(`[sensor] It is ${message.celsius} degrees.`)] : [];
  });
}
// #endregion declare

const model = new ScriptedModel([stopResponse("Wear a coat."), stopResponse("No coat today.")]);
const rules = ["Be brief.", "Be brief, and polite."];

// #region agent
const agent = await Agent.create({
  model,
  sessions: [new MemorySessionStore()],
  config: {
    toModelMessages,
    // Asked before every model call, so that it is never out of date, and never compressed away.
    system: async ({ sessionId }) => `You talk in ${sessionId}. ${await currentRule()}`,
  },
});

await agent.appendMessage("hall", { role: "sensor", id: "reading-1", at: Date.now(), celsius: 4 });
await agent.runTurn("Do I need a coat?", "hall");
await agent.appendMessage("hall", { role: "sensor", id: "reading-2", at: Date.now(), celsius: 21 });
await agent.runTurn("And now?", "hall");
// #endregion agent

async function currentRule(): Promise<string> {
  return rules[model.callCount] ?? "";
}

// #region shown
for (const { messages } of model.requests) console.log(messages.map(textOf));
//> [
//>   'You talk in hall. Be brief.',
//>   '[sensor] It is 4 degrees.',
//>   'Do I need a coat?'
//> ]
//> [
//>   'You talk in hall. Be brief, and polite.',
//>   '[sensor] It is 4 degrees.',
//>   'Do I need a coat?',
//>   'Wear a coat.',
//>   '[sensor] It is 21 degrees.',
//>   'And now?'
//> ]
const { messages } = await agent.session("hall");
console.log(messages.map(({ role }) => role).join(" "));
//> sensor user assistant sensor user assistant
// #endregion shown
await agent.shutdown();
