import { adopt } from "../domain/adopt.js";
import { thrownLabel } from "../domain/describe-thrown.js";
import { CompositionError, Defect, errorCategory } from "../domain/errors.js";
import { isJsonObject } from "../domain/json.js";
import { isTimeLimit } from "../domain/limits.js";
import { safeLabel } from "../domain/safe-label.js";
import type { ToolDef } from "../domain/tool.js";
import { toolHints, type ToolHints } from "../domain/tool-hints.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { Outcome } from "../ports/step-scope.js";
import type { ListContext, ToolProvider } from "../ports/tool-provider.js";
import { isThenable } from "./observers.js";

/** A tool and who runs it. */
export type ToolEntry = { readonly def: ToolDef; readonly provider: ToolProvider };

/** The tools of a turn by name; immutable. */
export type ToolTable = { readonly defs: readonly ToolDef[]; readonly byName: ReadonlyMap<string, ToolEntry> };

/** The table of a turn that has not listed its tools yet. */
export const NO_TOOLS: ToolTable = Object.freeze({ defs: Object.freeze([]), byName: new Map() });

/** A tool and what may be believed of its effects; nothing for a name that no provider has. */
export function knownTool(table: ToolTable, name: string): { readonly tool?: ToolDef; readonly hints?: ToolHints } {
  const entry = table.byName.get(name);
  return entry === undefined ? {} : { tool: entry.def, hints: hintsOf(entry) };
}

/** A tool's annotations as far as its provider is trusted. */
export function hintsOf({ def, provider }: ToolEntry): ToolHints {
  return toolHints(def, { trusted: provider.trustAnnotations === true });
}

/** What each provider listed. */
export type Listing = { readonly provider: ToolProvider; readonly defs: readonly ToolDef[] };

/** Makes the table; throws `CompositionError("tool-collision")` that names the tool and both sources. */
function toolTable(listings: readonly Listing[]): ToolTable {
  const byName = new Map<string, ToolEntry>();
  for (const { provider, defs } of listings) {
    for (const listed of defs) {
      const def = checked(listed, provider);
      const taken = byName.get(def.name);
      if (taken !== undefined) throw collision(def, provider, taken);
      byName.set(def.name, { def, provider });
    }
  }
  return { defs: [...byName.values()].map((entry) => entry.def), byName };
}

/** The same table with other definitions: what a hook chose to show. A name no provider has stays unknown when it is called. */
export function withDefs(table: ToolTable, defs: readonly ToolDef[]): ToolTable {
  const byName = new Map<string, ToolEntry>();
  for (const def of defs) {
    const entry = table.byName.get(def.name);
    if (entry !== undefined) byName.set(def.name, { def, provider: entry.provider });
  }
  return { defs, byName };
}

function checked(listed: ToolDef, provider: ToolProvider): ToolDef {
  const def = copyOf(listed, provider);
  if (typeof def.name !== "string" || def.name === "") {
    throw new CompositionError("invalid-schema", `${providerLabel(provider)} lists a tool without a name`);
  }
  if (def.timeoutMs !== undefined && !isTimeLimit(def.timeoutMs)) {
    throw new CompositionError("invalid-schema", `the timeout of ${safeLabel(def.name)} is no number above 0`);
  }
  if (isJsonObject(def.inputSchema) && def.inputSchema["type"] === "object") return def;
  throw new CompositionError("invalid-schema", `the input schema of ${safeLabel(def.name)} has no type "object"`);
}

function copyOf(listed: ToolDef, provider: ToolProvider): ToolDef {
  if (!isJsonObject(listed))
    throw new CompositionError("invalid-schema", `${providerLabel(provider)} lists what is no tool`);
  try {
    return adopt(listed, "tool");
  } catch (cause) {
    const text = `${providerLabel(provider)} lists a tool that is no JSON: ${thrownLabel(cause)}`;
    throw new CompositionError("invalid-schema", text, { cause });
  }
}

function collision(def: ToolDef, provider: ToolProvider, taken: ToolEntry): CompositionError {
  const one = sourceOf(taken.def, taken.provider);
  const two = sourceOf(def, provider);
  const hint = one === undefined || two === undefined ? "; set `source` on the tools to tell them apart" : "";
  const sources = `${one ?? "a provider without a name"} and ${two ?? "a provider without a name"}`;
  return new CompositionError("tool-collision", `tool ${safeLabel(def.name)} comes from ${sources}${hint}`);
}

function sourceOf(def: ToolDef, provider: ToolProvider): string | undefined {
  const source = def.source ?? provider.name;
  return source === undefined ? undefined : safeLabel(source);
}

/** How errors name a provider. */
function providerLabel(provider: ToolProvider): string {
  return provider.name === undefined ? "a tool provider without a name" : safeLabel(provider.name);
}

/** The table of an agent, and whether a provider said that its list changed. */
export class ToolLister {
  /** Raised whenever a provider says that its list changed. */
  version = 0;
  #last: readonly Listing[] = [];
  #table: ToolTable = toolTable([]);
  #stops: (() => void)[] = [];

  /** The table made last. */
  get listed(): ToolTable {
    return this.#table;
  }

  /** Hears of changes until `close`, which is due also when a provider throws here. */
  watch(providers: readonly ToolProvider[]): void {
    for (const provider of providers) {
      const stop = provider.onToolsChanged?.(() => void (this.version += 1));
      if (stop !== undefined) this.#stops.push(stop);
    }
  }

  /** Hears of nothing more; returns what providers threw. */
  close(): unknown[] {
    const stops = this.#stops;
    this.#stops = [];
    return stops.flatMap((stop) => {
      try {
        stop();
        return [];
      } catch (error) {
        return [error];
      }
    });
  }

  /** The table of what providers listed; made anew only when a list is another than the time before. Throws `CompositionError`. */
  table(listings: readonly Listing[]): ToolTable {
    if (sameListings(listings, this.#last)) return this.#table;
    const table = toolTable(listings);
    this.#table = table;
    this.#last = listings.map(({ provider, defs }) => ({ provider, defs: [...defs] }));
    return table;
  }
}

/** A provider that could not list its tools; the message names it. */
export class ListFailure extends Error {
  constructor(provider: ToolProvider, cause: unknown) {
    super(`${providerLabel(provider)} could not list its tools`, { cause });
    this.name = "ListFailure";
  }
}

/** Awaits what a provider lists, for as long as it may take. */
export type ListBound = (listing: () => PromiseLike<unknown>) => Promise<Outcome<unknown>>;

/**
 * What each provider lists, null for an optional one that failed or took too long. Rejects with a `ListFailure` naming the one that did and is not
 * optional (U8).
 */
export async function listTools(
  providers: readonly ToolProvider[],
  context: ListContext,
  secondary: (failure: SecondaryFailure) => void,
  bound: ListBound,
): Promise<(readonly ToolDef[] | null)[]> {
  const lists: (readonly ToolDef[] | null)[] = [];
  for (const provider of providers) {
    try {
      const listing = provider.listTools(context);
      const outcome = isThenable(listing) ? await bound(() => listing) : { ok: true as const, value: listing };
      if (!outcome.ok) throw outcome.error;
      const listed = outcome.value;
      if (!isList(listed)) throw new TypeError("what was listed is no list");
      lists.push(listed);
    } catch (error) {
      if (Defect.is(error) || isCollision(error)) throw error;
      if (provider.optional !== true) throw new ListFailure(provider, error);
      secondary({ stage: "tools", operation: `list ${providerLabel(provider)}`, errorCategory: errorCategory(error) });
      lists.push(null);
    }
  }
  return lists;
}

/** Found by a provider that is made of others: the same as one found between providers (U8). */
export function isCollision(error: unknown): error is CompositionError {
  return error instanceof CompositionError && error.kind === "tool-collision";
}

/** Each entry is checked when the table is made. */
function isList(listed: unknown): listed is readonly ToolDef[] {
  return Array.isArray(listed);
}

/** Pairs what was listed with who listed it. */
export function listingsOf(
  providers: readonly ToolProvider[],
  lists: readonly (readonly ToolDef[] | null)[],
): Listing[] {
  return providers.flatMap((provider, i) => {
    const defs = lists[i];
    return defs === null || defs === undefined ? [] : [{ provider, defs }];
  });
}

function sameListings(a: readonly Listing[], b: readonly Listing[]): boolean {
  return a.length === b.length && a.every((listing, i) => sameListing(listing, b[i] as Listing));
}

function sameListing(a: Listing, b: Listing): boolean {
  return a.provider === b.provider && a.defs.length === b.defs.length && a.defs.every((def, i) => def === b.defs[i]);
}
