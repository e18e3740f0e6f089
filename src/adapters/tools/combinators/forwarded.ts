import { CompositionError } from "../../../domain/errors.js";
import type { ToolProvider } from "../../../ports/tool-provider.js";

/** Every member of a provider by name, so that one that is added to the port has to be thought of wherever a provider is made of others. */
export type ProviderMembers = { readonly [M in keyof ToolProvider]-?: ToolProvider[M] | undefined };

/** A provider of these members; those that are undefined are left out. */
export function providerOf(members: ProviderMembers): ToolProvider {
  const present = Object.entries(members).filter(([, member]) => member !== undefined);
  return Object.fromEntries(present) as unknown as ToolProvider;
}

/** The members of a provider, bound to it, with some replaced. What the provider lacks stays absent. */
export function forwarded(provider: ToolProvider, replaced: Partial<ProviderMembers> = {}): ToolProvider {
  return providerOf({
    name: provider.name,
    optional: provider.optional,
    trustAnnotations: provider.trustAnnotations,
    listTools: provider.listTools.bind(provider),
    execute: provider.execute.bind(provider),
    prepareArguments: provider.prepareArguments?.bind(provider),
    validate: provider.validate?.bind(provider),
    hooks: provider.hooks?.bind(provider),
    conflictKeys: provider.conflictKeys?.bind(provider),
    onToolsChanged: provider.onToolsChanged?.bind(provider),
    ...replaced,
  });
}

/** Throws `CompositionError("invalid-config")` for what is no provider. */
export function checkProviders(
  what: string,
  providers: readonly unknown[],
): asserts providers is readonly ToolProvider[] {
  if (Array.isArray(providers) && providers.every(isProvider)) return;
  throw new CompositionError("invalid-config", `${what} needs providers that have listTools and execute`);
}

function isProvider(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["listTools", "execute"].every((member) => typeof Reflect.get(value, member) === "function");
}
