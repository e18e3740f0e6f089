import { Agent } from "ennead";
import { mcpServer } from "ennead/hosts/mcp-server";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

/** An agent as an MCP server on the streams of this process. */
const add = defineTool({
  name: "add",
  description: "Adds.",
  parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => a + b,
});
const agent = await Agent.create({ model: new ScriptedModel(), tools: [add], sessions: [new MemorySessionStore()] });
await using server = mcpServer(agent);
await server.serveStdio();
await agent.shutdown();
