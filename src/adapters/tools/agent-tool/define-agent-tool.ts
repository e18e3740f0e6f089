import { type Static, type TObject, type TSchema, type TString, Type } from "@sinclair/typebox";
import { checkValues, FUNCTION, OBJECT } from "../../../domain/check-values.js";
import { CompositionError } from "../../../domain/errors.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { TurnInput } from "../../../ports/agent-api.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import type { ToolContext } from "../../../ports/tool-provider.js";
import { checkDefinition } from "../check-definition.js";
import { defineTool } from "../define-tool.js";
import type { DefinedTool } from "../made-tool.js";
import type { ToolDescription } from "../tool-functions.js";
import { type AgentSource, type AgentToolTurn, CalledAgent, isAgent } from "./called-agent.js";

/** What an agent's tool takes unless it says otherwise: one text. */
export type TaskParameters = TObject<{ task: TString }>;

const TASK: TaskParameters = Type.Object({
  task: Type.String({ minLength: 1, description: "All it needs to know: it sees nothing else." }),
});

/** An agent as a tool of another. */
export type AgentToolDefinition<P extends TObject = TaskParameters> = ToolDescription & {
  /** Default: `{ task: string }`. Others need `input`. */
  readonly parameters?: P | undefined;
  /** What the agent is told; default the task. */
  readonly input?: ((args: Static<P>, context: ToolContext) => Awaitable<TurnInput>) | undefined;
  /** The answer has to be JSON of this schema, which the model is told too; what is not becomes an error result. */
  readonly result?: TSchema | undefined;
  /** `"call"` (default): each call is a conversation of its own. `"conversation"`: one for each conversation that calls it, so that it remembers. */
  readonly session?: "call" | "conversation" | undefined;
  /** Events of the agent that the calling turn publishes as progress of the call: all but stream chunks (default), all, or none. */
  readonly events?: "steps" | "all" | "none" | undefined;
  /** How many agents may stand one below the other, this one included; default 4. */
  readonly maxDepth?: number | undefined;
  readonly turn?: AgentToolTurn | undefined;
};

/**
 * Makes a tool of an agent. Its turn ends with the turn that calls it, draws from the same budgets, and has a session id that follows from the call: an
 * attempt that is repeated after a crash goes on with the conversation of the first, and a finished one answers again what it said. Whatever it comes to
 * is a result; `details.agent` holds its session and usage.
 */
export function agentTool<P extends TObject = TaskParameters>(
  source: AgentSource,
  definition: AgentToolDefinition<P>,
): DefinedTool {
  checkDefinition("agentTool", definition, FIELDS, { executes: false });
  const { parameters, input, result, session = "call", events: _e, turn: _t, maxDepth = 4, ...described } = definition;
  checkValues(`agentTool ${safeLabel(definition.name)}`, definition, { input: FUNCTION, turn: OBJECT });
  checkAgentTool(source, definition, maxDepth);
  const called = new CalledAgent(source, definition, maxDepth);
  const messageOf = input ?? ((args: Static<P>) => (args as Static<TaskParameters>).task);
  return defineTool({
    ...described,
    parameters: parameters ?? TASK,
    output: result,
    ...(session === "conversation" ? { conflictKeys: () => [`agent ${definition.name}`] } : undefined),
    execute: async (args, context) => called.run(await messageOf(args as Static<P>, context), context),
  });
}

const FIELDS = ["parameters", "input", "result", "session", "events", "maxDepth", "turn"];

type Checked = { readonly [K in "name" | "parameters" | "input" | "session" | "events"]?: unknown };

function checkAgentTool(source: unknown, { name, parameters, input, ...choices }: Checked, maxDepth: number): void {
  const { session = "call", events = "steps" } = choices;
  const fault = !(typeof source === "function" || isAgent(source))
    ? "needs an agent, or a function that finds one"
    : parameters !== undefined && input === undefined
      ? "needs input to make a message of its own parameters"
      : session !== "call" && session !== "conversation"
        ? 'has a session that is neither "call" nor "conversation"'
        : events !== "steps" && events !== "all" && events !== "none"
          ? 'has events that are none of "steps", "all" and "none"'
          : Number.isSafeInteger(maxDepth) && maxDepth >= 1
            ? undefined
            : "has a maxDepth that is no count";
  if (fault !== undefined)
    throw new CompositionError("invalid-config", `agentTool ${safeLabel(String(name))} ${fault}`);
}
