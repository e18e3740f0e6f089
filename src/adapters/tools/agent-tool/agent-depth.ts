import { AsyncLocalStorage } from "node:async_hooks";

/** One for all copies of the package. It belongs to the calls, not to agents: nothing is kept in it. */
const DEPTH = Symbol.for("ennead.agent-tool.depth");
type Shared = { [DEPTH]?: AsyncLocalStorage<number> };

function storage(): AsyncLocalStorage<number> {
  return ((globalThis as Shared)[DEPTH] ??= new AsyncLocalStorage());
}

/** How many agents stand above the caller, each the tool of the one before. */
export function agentDepth(): number {
  return storage().getStore() ?? 0;
}

/** Runs an agent one level below the caller. */
export function oneDeeper<T>(run: () => T): T {
  return storage().run(agentDepth() + 1, run);
}
