import { checkValues, NAMES, TEXT } from "../domain/check-values.js";
import { CompositionError } from "../domain/errors.js";
import type { AgentPorts } from "./agent-ports.js";

/** The methods without which a port is none. */
const METHODS = {
  tools: ["listTools", "execute"],
  hooks: ["onStage"],
  memory: ["store", "search", "delete"],
  compressors: ["compress"],
  observers: ["onEvent"],
  sessions: ["load", "save"],
  lifecycles: ["onShutdown"],
  commands: ["commands", "invoke"],
} as const satisfies { readonly [K in keyof AgentPorts]?: readonly string[] };

/** What some are told apart by in errors and steps, and put in order by; of the others a name is only shown. */
const NAMED = { name: TEXT };
const RULES: Partial<Record<keyof typeof METHODS, Parameters<typeof checkValues>[2]>> = {
  tools: NAMED,
  hooks: { ...NAMED, before: NAMES, after: NAMES },
  memory: NAMED,
  compressors: NAMED,
};

type ListName = keyof typeof METHODS;

const LISTS = Object.keys(METHODS) as readonly ListName[];

/** Throws `CompositionError("invalid-config")` naming the port and the place where a list of ports is none, or holds what is none or is named by no text. */
export function checkPorts(ports: { readonly [K in ListName]?: unknown }): void {
  for (const name of LISTS) {
    const list = ports[name];
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new CompositionError("invalid-config", `${name} is no list`);
    for (let i = 0; i < list.length; i++) {
      const missing = METHODS[name].find((method) => !hasMethod(list[i], method));
      if (missing !== undefined)
        throw new CompositionError("invalid-config", `${name}[${i}] has no method \`${missing}\``);
      checkValues(`${name}[${i}]`, list[i] as object, RULES[name] ?? {});
    }
  }
}

function hasMethod(port: unknown, method: string): boolean {
  if ((typeof port !== "object" && typeof port !== "function") || port === null) return false;
  return typeof Reflect.get(port, method) === "function";
}
