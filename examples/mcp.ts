import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { McpToolProvider } from "ennead/tools/mcp";

const folder = await mkdtemp(join(tmpdir(), "ennead-"));
await writeFile(join(folder, "note.txt"), "Buy milk.");

const packages = "node_modules/@modelcontextprotocol";
// #region provider
const down = new Map<string, string>();
const mcp = new McpToolProvider({
  servers: {
    files: { command: "node", args: [`${packages}/server-filesystem/dist/index.js`, folder] },
    demo: { command: "node", args: [`${packages}/server-everything/dist/index.js`] },
    broken: { command: "no-such-server" },
  },
  onEvent: (event) => {
    if (event.type === "failed") down.set(event.server, event.reason);
  },
});
// #endregion provider

const model = new ScriptedModel([
  toolCallResponse("files__read_text_file", "call-1", { path: join(folder, "note.txt") }),
  toolCallResponse("demo__get-sum", "call-2", { a: 20, b: 22 }),
  stopResponse("Milk, and 42."),
]);
// #region agent
const agent = await Agent.create({
  model,
  tools: [mcp],
  lifecycles: [mcp],
  sessions: [new MemorySessionStore()],
});
const turn = await agent.runTurn("What is in the note, and what is 20 + 22?");
for (const { content } of turn.toolResults) console.log(content);
//> [ { type: 'text', text: 'Buy milk.' } ]
//> [ { type: 'text', text: 'The sum of 20 and 22 is 42.' } ]
console.log(down);
//> Map(1) { 'broken' => 'spawn no-such-server ENOENT' }
await agent.shutdown();
// #endregion agent
await rm(folder, { recursive: true });
