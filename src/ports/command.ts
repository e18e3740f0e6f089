import type { CommandArgs, CommandDef, CommandOutcome } from "../domain/command.js";
import type { AgentApi } from "./agent-api.js";

/** Who asks, and what a command may use. */
export type CommandContext = {
  readonly sessionId?: string | undefined;
  readonly signal: AbortSignal;
  readonly agent: AgentApi;
};

/** Commands a user calls. May be called concurrently. */
export interface CommandPort {
  /** Constant for the life of the agent; ids and aliases are unique over all ports of an agent. */
  commands(): readonly CommandDef[];
  /** Runs a command by id with validated arguments. An unknown id rejects with `CommandError("not-found")`; what the user can mend is a `failure`. */
  invoke(id: string, args: CommandArgs, context: CommandContext): Promise<CommandOutcome>;
}
