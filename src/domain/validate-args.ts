import { setOwn } from "./adopt.js";
import type { CommandArgs, CommandDef, CommandParam, CommandValue, Parsed } from "./command.js";
import { safeLabel } from "./safe-label.js";
import { unreachable } from "./unreachable.js";

/**
 * Checks arguments that a program gives: unknown names, types, choices and what is required; fills in defaults. The answer is a new
 * object and the one to hand to the command. Undefined counts as absent.
 */
export function validateArgs(def: Pick<CommandDef, "params">, args: CommandArgs): Parsed<CommandArgs> {
  return completeArgs(def.params, args);
}

/** `validateArgs` for a bare list of parameters. */
export function completeArgs(params: readonly CommandParam[], args: CommandArgs): Parsed<CommandArgs> {
  if (typeof args !== "object" || args === null) return { ok: false, reason: "arguments are given by name" };
  const unknown = Object.keys(args).find((name) => !params.some((param) => param.name === name));
  if (unknown !== undefined) return { ok: false, reason: `there is no "${safeLabel(unknown)}"` };
  const complete: Record<string, CommandValue> = {};
  for (const param of params) {
    const given: unknown = Object.hasOwn(args, param.name) ? args[param.name] : undefined;
    const value = given ?? param.default;
    if (value === undefined) {
      if (param.required) return { ok: false, reason: `"${safeLabel(param.name)}" is missing` };
      continue;
    }
    const checked = checkValue(param, value);
    if (!checked.ok) return checked;
    setOwn(complete, param.name, checked.value);
  }
  return { ok: true, value: complete };
}

/** The value when it has the parameter's type and is among its choices; in a list every item must be one. */
export function checkValue(param: CommandParam, value: unknown): Parsed<CommandValue> {
  const name = safeLabel(param.name);
  if (!hasType(param, value)) return { ok: false, reason: `"${name}" takes ${EXPECTED[param.type]}` };
  const { choices } = param;
  const items = Array.isArray(value) ? (value as readonly string[]) : [String(value)];
  if (choices !== undefined && !items.every((item) => choices.includes(item)))
    return { ok: false, reason: `"${name}" takes one of: ${choices.map(safeLabel).join(", ")}` };
  return { ok: true, value };
}

const EXPECTED = { string: "text", int: "a whole number", bool: "true or false", strings: "a list of texts" } as const;

function hasType(param: CommandParam, value: unknown): value is CommandValue {
  switch (param.type) {
    case "string":
      return typeof value === "string";
    case "int":
      return Number.isSafeInteger(value);
    case "bool":
      return typeof value === "boolean";
    case "strings":
      return Array.isArray(value) && value.every((item) => typeof item === "string");
    default:
      return unreachable(param.type);
  }
}
