import type { CommandArgs, CommandDef, CommandOutcome } from "../domain/command.js";
import { decodeCommandDef } from "../domain/command-def.js";
import { CommandError, CompositionError, Defect, EnneadError } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import { parseSlashArgs } from "../domain/slash-args.js";
import { parseSlashLine } from "../domain/slash-line.js";
import { validateArgs } from "../domain/validate-args.js";
import type { AgentApi } from "../ports/agent-api.js";
import type { CommandCaller, CommandAccess } from "../ports/command-access.js";
import type { CommandPort } from "../ports/command.js";
import { checkPorts } from "./port-check.js";

type Entry = { readonly def: CommandDef; readonly port: CommandPort };

/** The commands of all ports by id and alias. Throws `CompositionError`: `duplicate-id` for one that stands twice, `invalid-config` for what is no command. */
export class CommandTable implements CommandAccess {
  readonly #byName = new Map<string, Entry>();
  readonly #defs: CommandDef[] = [];
  readonly #agent: AgentApi;

  constructor(ports: readonly CommandPort[], agent: AgentApi) {
    checkPorts({ commands: ports });
    this.#agent = agent;
    for (const port of ports) for (const def of listOf(port)) this.#add(decodeCommandDef(def), port);
  }

  list(): readonly CommandDef[] {
    return [...this.#defs];
  }

  async invoke(id: string, args: CommandArgs, caller: CommandCaller = {}): Promise<CommandOutcome> {
    const entry = this.#byName.get(id);
    if (entry === undefined) throw new CommandError("not-found", `there is no command ${safeLabel(id)}`);
    const checked = validateArgs(entry.def, args);
    if (!checked.ok) throw new CommandError("invalid-args", checked.reason);
    return this.#run(entry, checked.value, caller);
  }

  async run(line: string, caller: CommandCaller = {}): Promise<CommandOutcome | undefined> {
    const parsed = parseSlashLine(line);
    if (!parsed.ok) return undefined;
    const entry = this.#byName.get(parsed.value.name);
    if (entry === undefined) return { type: "failure", reason: `unknown command /${safeLabel(parsed.value.name)}` };
    const args = parseSlashArgs(parsed.value.rest, entry.def.params);
    if (!args.ok) return { type: "failure", reason: args.reason };
    return this.#run(entry, args.value, caller);
  }

  async #run(entry: Entry, args: CommandArgs, caller: CommandCaller): Promise<CommandOutcome> {
    const { sessionId, signal = new AbortController().signal } = caller;
    try {
      return await entry.port.invoke(entry.def.id, args, { sessionId, signal, agent: this.#agent });
    } catch (error) {
      if (Defect.is(error) || error instanceof CommandError) throw error;
      const text = EnneadError.is(error) ? error.message : `command ${safeLabel(entry.def.id)} failed`;
      throw new CommandError("execution-failed", text, { cause: error });
    }
  }

  #add(def: CommandDef, port: CommandPort): void {
    for (const name of [def.id, ...def.aliases]) {
      if (this.#byName.has(name))
        throw new CompositionError("duplicate-id", `two commands are named ${safeLabel(name)}`);
      this.#byName.set(name, { def, port });
    }
    this.#defs.push(def);
  }
}

/** Ports are bound by types, and not everybody's is. */
function listOf(port: CommandPort): readonly unknown[] {
  const listed: unknown = port.commands();
  if (Array.isArray(listed)) return listed;
  throw new CompositionError("invalid-config", "a command port lists no commands");
}
