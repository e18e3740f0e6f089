import { Agent } from "ennead";
import { mcpServer } from "ennead/hosts/mcp-server";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";
import { McpToolProvider } from "ennead/tools/mcp";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => a + b,
});
const model = new ScriptedModel();
// #region serve
const agent = await Agent.create({ model, tools: [add], sessions: [new MemorySessionStore()] });
const server = mcpServer(agent, {
  name: "calculator",
  tools: (tool) => tool.name === "add",
  authorize: (request) => (request.headers.get("authorization") === "Bearer open sesame" ? "ann" : undefined),
});
// #endregion serve

// #region client
const mcp = new McpToolProvider({
  servers: {
    calculator: {
      url: "http://localhost/mcp",
      authToken: () => "open sesame",
      // Without a socket here: any handler of web requests will do.
      fetch: (input, init) => server.fetch(new Request(input, init)),
    },
  },
});
await mcp.onStart();
const tools = await mcp.listTools({ signal: new AbortController().signal });
console.log(tools.map(({ name, description }) => `${name}: ${description}`));
//> [ 'calculator__add: Adds two numbers.' ]
console.log(mcp.validate("calculator__add", { a: 1, b: "two" }));
//> { ok: false, issues: [ { path: '/b', expected: 'number' } ] }
// #endregion client
await mcp.onShutdown();
await server.close();
await agent.shutdown();
