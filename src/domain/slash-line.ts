import type { Parsed, SlashLine } from "./command.js";

const COMMAND_LINE = /^\/([A-Za-z0-9][A-Za-z0-9_.:-]*)(?:\s|$)/;
const COMMAND_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]*$/;

/**
 * Takes a command line apart. Anything else, such as `/src/main.ts is broken`, `//x` or ` /help`, is an ordinary message and gives a
 * reason. Whether a command of that name exists is not asked here.
 */
export function parseSlashLine(text: string): Parsed<SlashLine> {
  const name = COMMAND_LINE.exec(text)?.[1];
  if (name === undefined) return { ok: false, reason: "not a command line" };
  return { ok: true, value: { name, rest: text.slice(name.length + 2) } };
}

/** True for an id or alias that a command line can call. */
export function isCommandName(name: unknown): name is string {
  return typeof name === "string" && COMMAND_NAME.test(name);
}
