import type { CommandArgs, CommandDef, CommandOutcome } from "../../domain/command.js";
import { decodeCommandDef } from "../../domain/command-def.js";
import { CommandError, CompositionError, Defect, EnneadError, errorCategory } from "../../domain/errors.js";
import { isJsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import { validateArgs } from "../../domain/validate-args.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { CommandContext, CommandPort } from "../../ports/command.js";

/** Does what a command is for; gets validated arguments with defaults. Whatever it throws becomes `CommandError("execution-failed")`. */
export type CommandHandler = (args: CommandArgs, context: CommandContext) => Awaitable<CommandOutcome>;

/** A command as its author writes it. Left out: the id as label, category `general`, type `action`, visible, no parameters, no aliases. */
export type CommandSpec = Pick<CommandDef, "id" | "description"> & {
  readonly [K in keyof CommandDef]?: CommandDef[K] | undefined;
};

type Entry = { readonly def: CommandDef; readonly run: CommandHandler };

/** Commands with their handlers. Register all before an agent is made of it: an agent reads the list once. */
export class CommandRegistry implements CommandPort {
  readonly #entries: Entry[] = [];
  readonly #byName = new Map<string, Entry>();

  /**
   * Adds a command; the definition is copied and frozen. Throws `CompositionError`: `duplicate-id` for an id or alias already taken,
   * `invalid-config` for a name no command line can call, a parameter that is none or named twice, or a default its own parameter refuses.
   */
  register(spec: CommandSpec, run: CommandHandler): this {
    const def = decodeCommandDef(filledIn(spec));
    const names = [def.id, ...def.aliases];
    checkFree(names, this.#byName);
    const entry = { def, run };
    this.#entries.push(entry);
    for (const name of names) this.#byName.set(name, entry);
    return this;
  }

  commands(): readonly CommandDef[] {
    return this.#entries.map((entry) => entry.def);
  }

  /** Takes an alias too. Bad arguments reject with `CommandError("invalid-args")`. */
  async invoke(id: string, args: CommandArgs, context: CommandContext): Promise<CommandOutcome> {
    const entry = this.#byName.get(id);
    if (entry === undefined) throw new CommandError("not-found", `there is no command "${safeLabel(id)}"`);
    const checked = validateArgs(entry.def, args);
    if (!checked.ok) throw new CommandError("invalid-args", `${entry.def.id}: ${checked.reason}`);
    try {
      return await entry.run(checked.value, context);
    } catch (error) {
      if (Defect.is(error) || error instanceof CommandError) throw error;
      // Only our own errors are known to hold no payload; the rest is in the cause.
      const why = EnneadError.is(error) ? error.message : errorCategory(error);
      throw new CommandError("execution-failed", `${entry.def.id}: ${why}`, { cause: error });
    }
  }
}

const DEFAULTS = { category: "general", type: "action", params: [], aliases: [], visible: true } as const;

/** A field that is set to `undefined` is left out. */
function filledIn(spec: CommandSpec): unknown {
  if (!isJsonObject(spec)) return spec;
  const given = Object.entries(spec).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, label: spec["id"], ...Object.fromEntries(given) };
}

function checkFree(names: readonly string[], taken: ReadonlyMap<string, Entry>): void {
  for (const [index, name] of names.entries()) {
    const owner = taken.get(name)?.def.id ?? (names.indexOf(name) < index ? names[0] : undefined);
    if (owner !== undefined)
      throw new CompositionError("duplicate-id", `command "${name}" is already taken by "${owner}"`);
  }
}
