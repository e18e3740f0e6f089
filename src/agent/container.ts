import "reflect-metadata";
import { type DependencyContainer, type InjectionToken, container as rootContainer } from "tsyringe";
import { CompositionError } from "../domain/errors.js";
import { checkFields } from "../domain/known-fields.js";
import type { AgentConfig } from "../ports/agent-config.js";
import type { CommandPort } from "../ports/command.js";
import type { Compressor } from "../ports/compressor.js";
import type { PipelineHook } from "../ports/hook.js";
import type { Lifecycle } from "../ports/lifecycle.js";
import type { MemoryPort } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import type { Observer } from "../ports/observer.js";
import type { SessionStore } from "../ports/session-store.js";
import type { ToolProvider } from "../ports/tool-provider.js";
import { Agent } from "./agent.js";
import type { AgentPorts } from "./agent-ports.js";

function token<T>(name: string): InjectionToken<T> {
  return Symbol.for(`ennead.port.${name}`);
}

/** One token a port, equal in every copy of the package. All but `Model` may be registered several times; order is the order of the rules. */
export const Ports = Object.freeze({
  Model: token<ModelPort>("model"),
  Tools: token<ToolProvider>("tools"),
  Sessions: token<SessionStore>("sessions"),
  Observers: token<Observer>("observers"),
  Compressors: token<Compressor>("compressors"),
  Hooks: token<PipelineHook>("hooks"),
  Memory: token<MemoryPort>("memory"),
  Lifecycles: token<Lifecycle>("lifecycles"),
  Commands: token<CommandPort>("commands"),
});

/** A port's name in `Ports`. */
export type PortName = keyof typeof Ports;

/** `replace` names the ports whose list in a child container stands instead of the parent's. */
export type CreateAgentOptions = {
  readonly config?: AgentConfig | undefined;
  readonly replace?: readonly PortName[] | undefined;
};

/** Each scope's parent; known to `createAgent`, and to nobody else. */
type Scope = { readonly parent: DependencyContainer };

const SCOPES = Symbol.for("ennead.scopes");

/**
 * A child container for one tenant or request. Its lists are the parent's, then its own: an instance registered in the parent is
 * shared, what is registered here is seen here only. The parent is never changed. The caller owns it; what it constructs is not closed for it.
 */
export function createScope(parent: DependencyContainer = rootContainer): DependencyContainer {
  const child = parent.createChildContainer();
  Object.defineProperty(child, SCOPES, { value: { parent } satisfies Scope });
  return child;
}

/**
 * Resolves every port, checks the whole, runs `onStart`, and returns the agent. A list registered in a plain child container that
 * would hide the parent's is `CompositionError("hidden-port")`, unless `replace` names it or the child was made by `createScope`.
 */
export async function createAgent(container: DependencyContainer, options: CreateAgentOptions = {}): Promise<Agent> {
  checkFields("createAgent", options, ["config", "replace"]);
  const replace = new Set(options.replace);
  const list = <T>(name: PortName): T[] => resolveList<T>(container, name, replace);
  const model = list<ModelPort>("Model").at(-1);
  if (model === undefined) throw new CompositionError("empty-port", "no model is registered (Ports.Model)");
  const ports: AgentPorts = {
    model,
    tools: list("Tools"),
    sessions: list("Sessions"),
    observers: list("Observers"),
    compressors: list("Compressors"),
    hooks: list("Hooks"),
    memory: list("Memory"),
    lifecycles: list("Lifecycles"),
    commands: list("Commands"),
    config: options.config,
  };
  return Agent.create(ports);
}

/** A list in a scope is the parent's and then its own; where the child is plain, its own list must not hide another. */
function resolveList<T>(container: DependencyContainer, name: PortName, replace: ReadonlySet<PortName>): T[] {
  const port = Ports[name] as InjectionToken<T>;
  const own = container.isRegistered(port) ? container.resolveAll(port) : [];
  const parent = parentOf(container);
  if (parent === undefined || replace.has(name)) return own;
  const inherited = parent.container.isRegistered(port, true) ? resolveList<T>(parent.container, name, new Set()) : [];
  if (own.length === 0 || inherited.length === 0 || name === "Model") return own.length > 0 ? own : inherited;
  if (parent.scoped) return [...inherited, ...own];
  throw new CompositionError(
    "hidden-port",
    `${name} registered in this container would hide the parent's; use createScope, or name it in replace`,
  );
}

function parentOf(
  container: DependencyContainer,
): { readonly container: DependencyContainer; readonly scoped: boolean } | undefined {
  const scope: unknown = Reflect.get(container, SCOPES);
  if (isScope(scope)) return { container: scope.parent, scoped: true };
  const parent: unknown = Reflect.get(container, "parent");
  return isContainer(parent) ? { container: parent, scoped: false } : undefined;
}

function isScope(value: unknown): value is Scope {
  return typeof value === "object" && value !== null && "parent" in value;
}

function isContainer(value: unknown): value is DependencyContainer {
  return typeof value === "object" && value !== null && "resolveAll" in value;
}
