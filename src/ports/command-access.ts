import type { CommandArgs, CommandDef, CommandOutcome } from "../domain/command.js";

/** Who calls a command. */
export type CommandCaller = { readonly sessionId?: string | undefined; readonly signal?: AbortSignal | undefined };

/** The commands of an agent, over all ports. */
export type CommandAccess = {
  list(): readonly CommandDef[];
  /** By id or alias. Rejects with `CommandError` (`not-found`, `invalid-args`, `execution-failed`). */
  invoke(id: string, args: CommandArgs, context?: CommandCaller): Promise<CommandOutcome>;
  /** Runs a command line (`/name args`). Nothing for ordinary text; a failure outcome for an unknown name or bad arguments. */
  run(line: string, context?: CommandCaller): Promise<CommandOutcome | undefined>;
};
