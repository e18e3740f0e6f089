import type { CommandDef, CommandOutcome, CommandParam } from "../../domain/command.js";
import { isJsonObject } from "../../domain/json.js";
import type { CommandPort } from "../../ports/command.js";
import { CommandRegistry } from "../commands/registry.js";

/** `/help` over all commands of the agent, and `/quit`, which tells its host to end (`wantsToQuit`). */
export function terminalCommands(): CommandPort {
  const category = "terminal";
  return new CommandRegistry()
    .register({ id: "help", category, description: "List the commands" }, (_args, { agent }) => ({
      type: "success",
      feedback: helpText(agent.commands.list()),
    }))
    .register({ id: "quit", category, description: "Leave", aliases: ["exit"] }, () => ({
      type: "success",
      feedback: "Bye.",
      structured: { quit: true },
      uiHint: "close-panel",
    }));
}

/** True for the outcome of `/quit`. */
export function wantsToQuit(outcome: CommandOutcome): boolean {
  const structured = outcome.type === "success" ? outcome.structured : undefined;
  return isJsonObject(structured) && structured["quit"] === true;
}

function helpText(defs: readonly CommandDef[]): string {
  const rows = defs.filter((def) => def.visible).map((def) => [usageOf(def), describe(def)] as const);
  const width = Math.max(0, ...rows.map(([usage]) => usage.length));
  return rows.map(([usage, description]) => `${usage.padEnd(width)}  ${description}`).join("\n");
}

function usageOf({ id, params }: CommandDef): string {
  return [`/${id}`, ...params.map(paramUsage)].join(" ");
}

function paramUsage({ name, positional, required }: CommandParam): string {
  const shown = positional ? name : `${name}=...`;
  return required ? `<${shown}>` : `[${shown}]`;
}

function describe({ description, aliases }: CommandDef): string {
  return aliases.length === 0 ? description : `${description} (also ${aliases.map((alias) => `/${alias}`).join(", ")})`;
}
