import { CompositionError } from "../../../domain/errors.js";
import { checkFields } from "../../../domain/known-fields.js";
import type { ToolDef } from "../../../domain/tool.js";
import { toolHints, type ToolHints } from "../../../domain/tool-hints.js";
import { yesOrNo } from "../../../domain/yes-or-no.js";
import type { ToolProvider } from "../../../ports/tool-provider.js";
import { checkProviders } from "./forwarded.js";
import { listedBy } from "./listed-by.js";
import { routedTools } from "./routed-tools.js";

/** Which tools to keep, by name or by definition; hints are what may be believed of the tool's effects. */
export type ToolFilter =
  | { readonly only: readonly string[] }
  | { readonly except: readonly string[] }
  | ((tool: ToolDef, hints: ToolHints) => boolean);

/** The tools that the filter keeps. The others are not shown, and unknown when they are called all the same. A filter that throws fails the listing. */
export function filtered(provider: ToolProvider, filter: ToolFilter): ToolProvider {
  checkProviders("filtered", [provider]);
  const keeps = predicateOf(filter);
  const { name, optional, trustAnnotations } = provider;
  return routedTools({
    name,
    optional,
    trustAnnotations,
    parts: [provider],
    list: async (context) => {
      const defs = await listedBy(provider, context);
      return defs
        .filter((def) =>
          yesOrNo("the filter of filtered", keeps(def, toolHints(def, { trusted: trustAnnotations === true }))),
        )
        .map((def) => ({ def, provider, name: def.name }));
    },
  });
}

function predicateOf(filter: ToolFilter): (tool: ToolDef, hints: ToolHints) => boolean {
  if (typeof filter === "function") return filter;
  checkFields("filtered", filter, ["only", "except"]);
  const only = namesOf("only" in filter ? filter.only : undefined);
  const except = namesOf("except" in filter ? filter.except : undefined);
  if ((only === undefined) === (except === undefined)) {
    throw new CompositionError("invalid-config", "filtered needs a function, or a list of names as only or as except");
  }
  return ({ name }) => only?.has(name) ?? except?.has(name) === false;
}

function namesOf(names: unknown): ReadonlySet<unknown> | undefined {
  if (names === undefined) return undefined;
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return new Set<unknown>(names);
  throw new CompositionError("invalid-config", "the names of filtered are a list of texts");
}
