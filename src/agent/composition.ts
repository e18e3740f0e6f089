import { CompositionError } from "../domain/errors.js";
import { checkFields } from "../domain/known-fields.js";
import type { AgentConfig } from "../ports/agent-config.js";
import type { ResumeOptions, TurnOptions } from "../ports/agent-api.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { ModelPort } from "../ports/model.js";
import type { Runtime } from "../ports/runtime.js";
import type { SessionStore } from "../ports/session-store.js";
import type { AgentPorts } from "./agent-ports.js";
import { checkBudget } from "./budget.js";
import { indexHooks } from "./hook-index.js";
import { MemoryFanOut } from "./memory-fan-out.js";
import { receiversOf } from "./observers.js";
import { checkPorts } from "./port-check.js";
import { resolveSettings, type Settings } from "./settings.js";
import { Stores } from "./stores.js";
import { createCallContext } from "./system-runtime.js";
import { ToolLister } from "./tool-table.js";
import type { Wiring } from "./wiring.js";

/** Checks the parts and wires them; listens to nothing yet. Throws `CompositionError` for what does not fit (A1). */
export function compose(ports: Omit<AgentPorts, "sessions">, runtime: Runtime, commands: CommandAccess): Wiring {
  const { model, tools = [], hooks = [], memory = [], compressors = [], observers = [] } = ports;
  checkPorts(ports);
  if (!isModel(model)) throw new CompositionError("empty-port", "an agent needs a model with a `chat` method");
  const settings = resolveSettings(ports.config ?? {}, model.describe?.().contextWindow);
  return {
    model,
    providers: [...new Set(tools)],
    lister: new ToolLister(),
    hooks: indexHooks(hooks),
    memory: new MemoryFanOut(memory, runtime, settings.limits.storeTimeoutMs),
    compressors: [...compressors],
    receivers: receiversOf(observers),
    commands,
    settings,
    runtime,
    calls: createCallContext(),
  };
}

function isModel(model: unknown): model is ModelPort {
  return typeof model === "object" && model !== null && "chat" in model && typeof model.chat === "function";
}

/** The stores in order, each once. Throws `CompositionError("empty-port")` for none. */
export function composeStores(sessions: readonly SessionStore[] | undefined): Stores {
  checkPorts({ sessions });
  const [first, ...rest] = new Set(sessions);
  if (first === undefined) throw new CompositionError("empty-port", "an agent needs at least one session store");
  return new Stores([first, ...rest]);
}

const TURN_OPTIONS = [
  "signal",
  "model",
  "hooks",
  "observers",
  "tools",
  "config",
  "budget",
  "takeOver",
  "fork",
  "decisions",
  "turnId",
  "startedAt",
  "stepScope",
] as const satisfies readonly (keyof ResumeOptions)[];

function isSignal(value: unknown): value is AbortSignal {
  return typeof value === "object" && value !== null && "addEventListener" in value && "aborted" in value;
}

/** The wiring of one turn: the agent's own, shared, unless the turn brings something; then turn hooks stand inside the agent's (H2). */
export function forTurn(wiring: Wiring, ports: AgentPorts, options: TurnOptions): Wiring {
  checkFields("a turn", options, TURN_OPTIONS);
  const { model, hooks, tools, observers, config, signal } = options;
  checkBudget("budget", options.budget);
  if (signal !== undefined && !isSignal(signal))
    throw new CompositionError("invalid-config", "signal is no AbortSignal");
  const others = model === undefined && hooks === undefined && tools === undefined && observers === undefined;
  if (others && config === undefined) return wiring;
  checkPorts({ hooks, tools, observers });
  if (model !== undefined && !isModel(model))
    throw new CompositionError("empty-port", "the model of a turn has no `chat` method");
  return {
    ...wiring,
    ...(model === undefined ? undefined : { model }),
    ...(hooks === undefined ? undefined : { hooks: indexHooks([...(ports.hooks ?? []), ...hooks]) }),
    ...(observers === undefined ? undefined : { receivers: receiversOf([...(ports.observers ?? []), ...observers]) }),
    ...(tools === undefined
      ? undefined
      : { providers: [...new Set([...wiring.providers, ...tools])], lister: new ToolLister() }),
    ...(config === undefined && model === undefined
      ? undefined
      : { settings: settingsOf(wiring, ports.config, { model, config }) }),
  };
}

/** A model name belongs to its port. */
function settingsOf(
  wiring: Wiring,
  base: AgentConfig | undefined,
  { model, config = {} }: Pick<TurnOptions, "model" | "config">,
): Settings {
  if (model === undefined) return resolveSettings(merged(base, config), wiring.settings.modelContextWindow);
  return resolveSettings(merged({ ...base, model: undefined }, config), model.describe?.().contextWindow);
}

/** A field that is set to `undefined` is not set. */
function merged(base: AgentConfig | undefined, own: AgentConfig): AgentConfig {
  return { ...base, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)) };
}
