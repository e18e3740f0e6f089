import { Agent } from "ennead";
import { mcpServer } from "ennead/hosts/mcp-server";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

/** An agent as an MCP server on the streams of this process; what happens beside the protocol is said on stderr. */
const say = (what: string): void => void process.stderr.write(`${what}\n`);

const add = defineTool({
  name: "add",
  description: "Adds.",
  parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => a + b,
});
const hang = defineTool({
  name: "hang",
  description: "Ends when it is aborted.",
  parameters: Type.Object({}),
  execute: (_, { signal }) => {
    say("hangs");
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        say("aborted");
        reject(new Error("aborted"));
      });
    });
  },
});
const print = defineTool({
  name: "print",
  description: "Prints on stdout.",
  parameters: Type.Object({ text: Type.String() }),
  execute: ({ text }) => {
    console.log(text);
    process.stdout.write(text);
    return "printed";
  },
});
let serveAgain = (): Promise<void> => Promise.resolve();
const again = defineTool({
  name: "again",
  description: "Serves another client on the same streams.",
  parameters: Type.Object({}),
  execute: async () => {
    await serveAgain();
    return "served";
  },
});
const stopping = Promise.withResolvers<void>();
const stop = defineTool({
  name: "stop",
  description: "Ends the server.",
  parameters: Type.Object({}),
  execute: () => {
    stopping.resolve();
    return "stopping";
  },
});
const sessions = new MemorySessionStore();
const agent = await Agent.create({
  model: new ScriptedModel(),
  tools: [add, hang, print, again, stop],
  sessions: [sessions],
});
{
  await using server = mcpServer(agent, { onError: (error) => say(`error: ${String(error)}`) });
  serveAgain = () => server.serveStdio();
  void stopping.promise.then(() => server.close());
  await server.serveStdio();
  say(`over: ${(await agent.sessions.list()).items.length} sessions`);
}
await agent.shutdown();
say("shut down");
