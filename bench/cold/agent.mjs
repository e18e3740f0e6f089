import { Agent } from "ennead";
import { OpenAiChatModel } from "ennead/models/openai-chat";
import { MemorySessionStore } from "ennead/sessions/memory";
import { defineTool, Type } from "ennead/tools";

/** A process that builds an agent ready for its first turn. */
const agent = await Agent.create({
  model: new OpenAiChatModel({ model: "none", apiKey: "none", baseUrl: "http://127.0.0.1:9/v1" }),
  tools: [
    defineTool({
      name: "greet",
      description: "Greets someone.",
      parameters: Type.Object({ name: Type.String() }),
      execute: ({ name }) => `Hello ${name}`,
    }),
  ],
  sessions: [new MemorySessionStore()],
});
const tools = await agent.tools();
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: user + system, tools: tools.map((tool) => tool.name) }));
