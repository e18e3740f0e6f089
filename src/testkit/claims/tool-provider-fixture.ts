import { copyJson } from "../../domain/adopt.js";
import type { JsonObject } from "../../domain/json.js";
import type { ToolContext, ToolProvider, ToolReturn } from "../../ports/tool-provider.js";
import { testToolContext } from "../tool-context.js";
import type { Fixture } from "./claim.js";
import { ClaimFailure } from "./expectations.js";

/** A call to make; each time with an id and a copy of the arguments of its own. */
export type SampleCall = { readonly name: string; readonly arguments: JsonObject };

/** A provider with what the claims need to know of its tools. */
export type ToolProviderFixture = Fixture & {
  readonly provider: ToolProvider;
  /** Succeeds, and gives the same result every time, also concurrently. */
  readonly call: SampleCall;
  /** Runs until its signal is aborted; needed for `abort`. */
  readonly slowCall?: SampleCall | undefined;
  /** Arguments of the same tool as `call` that `validate` refuses, and where their fault is (a JSON pointer); needed for `validation`. */
  readonly invalid?: { readonly arguments: JsonObject; readonly path: string } | undefined;
  /** Makes the list of tools change; needed for `changes`. */
  readonly change?: (() => void | PromiseLike<void>) | undefined;
  /** How soon after an abort a call must have settled; default 1000. */
  readonly deadlineMs?: number | undefined;
};

/** `abort`: a running call settles when its signal fires. `validation`: the provider validates. `changes`: it tells when its list changes. */
export type ToolProviderCapability = "abort" | "validation" | "changes";

let callCount = 0;

/** Executes a sample call as an agent would, with an id of its own; a synchronous throw becomes a rejection. */
export async function execute(
  provider: ToolProvider,
  call: SampleCall,
  context: Partial<ToolContext> = {},
): Promise<ToolReturn> {
  callCount += 1;
  const id = `claim-${callCount}`;
  const args = copyJson(call.arguments, "arguments") as JsonObject;
  const own = { callId: id, requestedName: call.name, executionId: `turn-1.${callCount}.0` };
  return await provider.execute({ id, name: call.name, arguments: args }, testToolContext({ ...own, ...context }));
}

/** Fails the claim when the fixture lacks what a capability needs. */
export function given<T>(value: T | undefined, name: string, capability: ToolProviderCapability): T {
  if (value !== undefined) return value;
  throw new ClaimFailure(`the fixture gives ${name}, or the capability ${capability} is declared missing`);
}
