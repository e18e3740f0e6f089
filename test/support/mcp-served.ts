import { Agent, type AgentConfig, type Json, type PipelineHook } from "ennead";
import { type CommandHandler, CommandRegistry } from "ennead/commands/registry";
import { mcpServer, type McpServerOptions } from "ennead/hosts/mcp-server";
import { RecordingSessionStore, ScriptedModel } from "ennead/testkit";
import { defineTool, ToolRegistry, Type } from "ennead/tools";
import { webServer } from "../adapters/models/web-server.js";

export const add = defineTool({
  name: "add",
  label: "Add",
  description: "Adds two numbers.",
  parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  output: Type.Object({ sum: Type.Number() }),
  annotations: { readOnlyHint: true },
  execute: ({ a, b }) => ({ sum: a + b }),
});

/** A tool without arguments. */
export const tool = (name: string, execute: (context: Parameters<typeof add.execute>[1]) => unknown) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    parameters: Type.Object({}),
    execute: (_, context) => execute(context) as Json,
  });

const say = {
  id: "say",
  label: "Say",
  description: "Says it.",
  category: "test",
  type: "action" as const,
  aliases: [],
  visible: true,
  params: [
    { name: "text", label: "Text", description: "What", type: "string" as const, required: true, positional: true },
    {
      name: "times",
      label: "Times",
      description: "",
      type: "int" as const,
      required: false,
      positional: false,
      default: 1,
    },
    {
      name: "tone",
      label: "Tone",
      description: "",
      type: "string" as const,
      required: false,
      positional: false,
      choices: ["loud", "soft"],
    },
  ],
};

const speak: CommandHandler = ({ text, times }) =>
  text === "no"
    ? { type: "failure", reason: "it will not say that" }
    : { type: "success", feedback: `${String(text)} x${String(times)}` };

type Parts = {
  readonly tools?: readonly Parameters<ToolRegistry["register"]>[0][];
  readonly hooks?: readonly PipelineHook[];
  /** What `say` takes and does. */
  readonly params?: typeof say.params;
  readonly command?: CommandHandler;
  readonly config?: AgentConfig;
  readonly options?: McpServerOptions;
};

/** An agent with one registry behind an MCP server over loopback HTTP. */
export async function served({
  tools = [add],
  hooks = [],
  params = say.params,
  command = speak,
  config = {},
  options = {},
}: Parts = {}) {
  const stack = new AsyncDisposableStack();
  const registry = new ToolRegistry(tools);
  const commands = new CommandRegistry();
  commands.register({ ...say, params }, command);
  const sessions = new RecordingSessionStore();
  const model = new ScriptedModel();
  const agent = await Agent.create({
    model,
    tools: [registry],
    hooks,
    commands: [commands],
    sessions: [sessions],
    config,
  });
  stack.defer(() => agent.shutdown());
  const errors: unknown[] = [];
  const server = stack.use(mcpServer(agent, { onError: (error) => void errors.push(error), ...options }));
  const web = stack.use(await webServer(server.fetch));
  return {
    agent,
    registry,
    sessions,
    model,
    server,
    errors,
    url: new URL("/mcp", web.url).href,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
