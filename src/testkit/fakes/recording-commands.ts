import type { CommandArgs, CommandDef, CommandOutcome } from "../../domain/command.js";
import { CommandError, Defect } from "../../domain/errors.js";
import type { CommandContext, CommandPort } from "../../ports/command.js";
import { frozen } from "./frozen.js";

/** One invocation, as it was, and what came of it. */
export type InvokeRecord = {
  readonly id: string;
  readonly args: CommandArgs;
  readonly sessionId?: string | undefined;
  readonly outcome: CommandOutcome | { readonly type: "throw"; readonly error: CommandError };
};

/** A command definition; by default an action without parameters. */
export function commandDef(id: string, overrides: Partial<CommandDef> = {}): CommandDef {
  return {
    id,
    label: id,
    description: `The command ${id}.`,
    category: "test",
    type: "action",
    params: [],
    aliases: [],
    visible: true,
    ...overrides,
  };
}

/** Offers commands that answer with a fixed outcome, or reject where an error stands for it. */
export class RecordingCommands implements CommandPort {
  readonly #defs: CommandDef[] = [];
  readonly #outcomes = new Map<string, CommandOutcome | CommandError>();
  readonly #records: InvokeRecord[] = [];

  /** To be called before the agent is made: its commands are constant. */
  add(command: string | CommandDef, outcome: CommandOutcome | CommandError): this {
    const def = typeof command === "string" ? commandDef(command) : command;
    this.#defs.push(frozen(def, "command"));
    this.#outcomes.set(def.id, outcome);
    return this;
  }

  commands(): readonly CommandDef[] {
    return [...this.#defs];
  }

  async invoke(id: string, args: CommandArgs, context: CommandContext): Promise<CommandOutcome> {
    const asked = { id, args: frozen(args, "args"), sessionId: context.sessionId };
    const result = this.#outcomes.get(id) ?? new CommandError("not-found", "this port has no command of that id");
    const record = (outcome: InvokeRecord["outcome"]): number =>
      this.#records.push(Object.freeze({ ...asked, outcome }));
    if (result instanceof CommandError) {
      record(Object.freeze({ type: "throw", error: result }));
      throw result;
    }
    const outcome = frozen(result, "outcome");
    record(outcome);
    return outcome;
  }

  get records(): readonly InvokeRecord[] {
    return [...this.#records];
  }

  /** Throws a `Defect` when a command was never invoked. */
  assertDone(): void {
    const idle = this.#defs.find((def) => !this.#records.some((record) => record.id === def.id));
    if (idle !== undefined) throw new Defect(`recording_commands_unfinished: ${idle.id} was never invoked`);
  }
}
