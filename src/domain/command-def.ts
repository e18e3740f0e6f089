import { adopt } from "./adopt.js";
import type { CommandDef, CommandParam, CommandParamType } from "./command.js";
import { thrownLabel } from "./describe-thrown.js";
import { CompositionError } from "./errors.js";
import { isJsonObject, type JsonObject } from "./json.js";
import { safeLabel } from "./safe-label.js";
import { isCommandName } from "./slash-line.js";
import { checkValue } from "./validate-args.js";

/** A frozen copy of a command's definition. Throws `CompositionError("invalid-config")` naming the command and what is wrong with it: a name no command line can call, a parameter that is none or named twice, a default its own parameter refuses. */
export function decodeCommandDef(value: unknown): CommandDef {
  if (!isJsonObject(value)) throw new CompositionError("invalid-config", "a command has no definition");
  const label = typeof value["id"] === "string" ? `command "${safeLabel(value["id"])}"` : "a command";
  const def = copyOf(value, label);
  const fault = defFault(def);
  if (fault !== undefined) throw new CompositionError("invalid-config", `${label}: ${fault}`);
  return def as unknown as CommandDef;
}

function copyOf(value: JsonObject, label: string): JsonObject {
  try {
    return adopt(value, label);
  } catch (cause) {
    throw new CompositionError("invalid-config", `${label}: ${thrownLabel(cause)}`, { cause });
  }
}

function defFault(def: JsonObject): string | undefined {
  const { id, label, description, params, aliases } = def;
  if (!isCommandName(id)) return "no command line can call its id";
  if (typeof label !== "string" || typeof description !== "string") return "label and description are texts";
  if (!Array.isArray(aliases)) return "aliases is no list";
  const odd: unknown = aliases.find((alias) => !isCommandName(alias));
  if (odd !== undefined) return `no command line can call the alias ${labelOf(odd)}`;
  if (!Array.isArray(params)) return "params is no list";
  const seen = new Set<unknown>();
  for (const param of params) {
    const fault = paramFault(param);
    if (fault !== undefined) return fault;
    const { name } = param as unknown as CommandParam;
    if (seen.has(name)) return `it has two parameters ${labelOf(name)}`;
    seen.add(name);
  }
  return undefined;
}

const PARAM_TYPES: { readonly [T in CommandParamType]: true } = { string: true, int: true, bool: true, strings: true };

function paramFault(param: unknown): string | undefined {
  if (!isJsonObject(param)) return "a parameter is no object";
  const { name, type, choices } = param;
  if (typeof name !== "string" || name === "") return "a parameter has no name";
  if (typeof type !== "string" || !Object.hasOwn(PARAM_TYPES, type)) return `the type of ${labelOf(name)} is unknown`;
  if (choices !== undefined && !(Array.isArray(choices) && choices.every((choice) => typeof choice === "string")))
    return `the choices of ${labelOf(name)} are no texts`;
  if (param["default"] === undefined) return undefined;
  const checked = checkValue(param as unknown as CommandParam, param["default"]);
  return checked.ok ? undefined : `the default: ${checked.reason}`;
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? `"${safeLabel(value)}"` : "that is no text";
}
