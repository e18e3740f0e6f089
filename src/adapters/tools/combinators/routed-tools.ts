import { ToolError } from "../../../domain/errors.js";
import type { JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolCall, ToolDef } from "../../../domain/tool.js";
import type { ListContext, ToolContext, ToolHooks, ToolProvider, ToolReturn } from "../../../ports/tool-provider.js";
import { providerOf } from "./forwarded.js";
import { type Route, Routes } from "./routes.js";

/** What a provider made of others shows of them. */
export type Routing = {
  readonly name: string | undefined;
  readonly optional: boolean | undefined;
  readonly trustAnnotations: boolean | undefined;
  readonly parts: readonly ToolProvider[];
  /** Each name once. */
  list(context: ListContext): Promise<readonly Route[]>;
};

/**
 * A provider of the tools of others: each call, and each question about a tool, goes to the one whose it is, under its name there. Has each
 * optional member that one of the parts has. A call of a name that was not listed for its session is unknown.
 */
export function routedTools(routing: Routing): ToolProvider {
  const { name, optional, trustAnnotations, parts } = routing;
  const routed = new RoutedTools(routing);
  const has = (member: keyof ToolProvider): boolean => parts.some((part) => part[member] !== undefined);
  return providerOf({
    name,
    optional,
    trustAnnotations,
    listTools: (context) => routed.list(context),
    execute: (call, context) => routed.execute(call, context),
    prepareArguments: has("prepareArguments") ? (tool, raw) => routed.prepareArguments(tool, raw) : undefined,
    validate: has("validate") ? (tool, args) => routed.validate(tool, args) : undefined,
    hooks: has("hooks") ? (tool) => routed.hooks(tool) : undefined,
    conflictKeys: has("conflictKeys") ? (call) => routed.conflictKeys(call) : undefined,
    onToolsChanged: has("onToolsChanged") ? (listener) => listenToAll(parts, listener) : undefined,
  });
}

type Whole = Required<ToolProvider>;

class RoutedTools {
  readonly #routing: Routing;
  readonly #routes = new Routes();
  /** Whether a list was ever asked for a session. */
  #bySession = false;

  constructor(routing: Routing) {
    this.#routing = routing;
  }

  async list(context: ListContext): Promise<readonly ToolDef[]> {
    this.#bySession ||= context.sessionId !== undefined;
    return (await this.#listed(context)).map(({ def }) => def);
  }

  async #listed(context: ListContext): Promise<readonly Route[]> {
    const routes = await this.#routing.list(context);
    this.#routes.remember(context.sessionId, routes);
    return routes;
  }

  async #routeOf(name: string, { sessionId, turnId, signal }: ToolContext): Promise<Route | undefined> {
    // Who keeps one list for all sessions, as `refreshing` does, is not to be asked past it.
    const common = this.#bySession ? undefined : this.#routes.of(undefined, name);
    if (common !== undefined) return common;
    // A turn that is replayed, or goes on in another session, has its list from elsewhere.
    if (!this.#routes.knows(sessionId)) await this.#listed({ signal, sessionId, turnId });
    return this.#routes.of(sessionId, name);
  }

  async execute(call: ToolCall, context: ToolContext): Promise<ToolReturn> {
    const route = await this.#routeOf(call.name, context);
    if (route === undefined) throw new ToolError("unknown-tool", `there is no tool ${safeLabel(call.name)}`);
    return await route.provider.execute(callThere(call, route), context);
  }

  prepareArguments(tool: string, raw: JsonObject): JsonObject {
    const route = this.#routes.latest(tool);
    return route?.provider.prepareArguments?.(route.name, raw) ?? raw;
  }

  validate(tool: string, args: JsonObject): ReturnType<Whole["validate"]> {
    const route = this.#routes.latest(tool);
    return route?.provider.validate?.(route.name, args) ?? { ok: true, value: args };
  }

  hooks(tool: string): ToolHooks | undefined {
    const route = this.#routes.latest(tool);
    const hooks = route?.provider.hooks?.(route.name);
    return hooks === undefined || route === undefined || route.name === tool ? hooks : hooksThere(hooks, route);
  }

  conflictKeys(call: ToolCall): readonly string[] {
    const route = this.#routes.latest(call.name);
    return route?.provider.conflictKeys?.(callThere(call, route)) ?? [];
  }
}

function callThere(call: ToolCall, { name }: Route): ToolCall {
  return call.name === name ? call : { ...call, name };
}

function hooksThere({ beforeExecute, afterExecute }: ToolHooks, route: Route): ToolHooks {
  return {
    ...(beforeExecute && {
      beforeExecute: (input, context) => beforeExecute({ ...input, call: callThere(input.call, route) }, context),
    }),
    ...(afterExecute && {
      afterExecute: (input, context) => afterExecute({ ...input, call: callThere(input.call, route) }, context),
    }),
  };
}

/** Stops all it began to listen to, also where one of the parts does not let it. */
function listenToAll(parts: readonly ToolProvider[], listener: () => void): () => void {
  const stops: (() => void)[] = [];
  const stopAll = (): void => {
    const failures = stops.splice(0).flatMap((stop) => failureOf(stop));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several providers could not be left");
  };
  for (const part of parts) {
    try {
      const stop = part.onToolsChanged?.(listener);
      if (stop !== undefined) stops.push(stop);
    } catch (error) {
      failureOf(stopAll);
      throw error;
    }
  }
  return stopAll;
}

function failureOf(run: () => void): unknown[] {
  try {
    run();
    return [];
  } catch (error) {
    return [error];
  }
}
