import { CompositionError } from "../../../domain/errors.js";
import type { ToolCall } from "../../../domain/tool.js";
import type { Awaitable } from "../../../ports/awaitable.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../../ports/tool-provider.js";
import { checkProviders, forwarded } from "./forwarded.js";

/** Runs the tool, as it was called or with another call or context. May be asked any number of times; never throws before it returns. */
export type RunTool = (call?: ToolCall, context?: ToolContext) => Promise<ToolReturn>;

/** Stands around each call: what it returns is the tool's result, what it throws is the tool's failure. */
export type AroundTool = (call: ToolCall, context: ToolContext, run: RunTool) => Awaitable<ToolReturn>;

/** The same provider with something around each of its calls, inside all hooks: a cache, a trace, a retry. All else is as it was. */
export function wrapped(provider: ToolProvider, around: AroundTool): ToolProvider {
  checkProviders("wrapped", [provider]);
  if (typeof around !== "function") throw new CompositionError("invalid-config", "wrapped needs a function");
  return forwarded(provider, {
    execute: (call, context) =>
      around(call, context, async (own = call, ownContext = context) => await provider.execute(own, ownContext)),
  });
}
