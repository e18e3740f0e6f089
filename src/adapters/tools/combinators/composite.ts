import { CompositionError, Defect } from "../../../domain/errors.js";
import { checkFields } from "../../../domain/known-fields.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolDef } from "../../../domain/tool.js";
import type { ListContext, ToolProvider } from "../../../ports/tool-provider.js";
import { checkProviders } from "./forwarded.js";
import { listedBy } from "./listed-by.js";
import { routedTools } from "./routed-tools.js";
import type { Route } from "./routes.js";

/** How several sources become one. */
export type CompositeOptions = {
  /** Names the whole in errors; default `"composite"`. */
  readonly name?: string | undefined;
  /** What happens when two sources have a tool of one name: the listing fails, or the source that comes first keeps it. */
  readonly sameName?: "fail" | "first-wins" | undefined;
  /** Hears of an optional source that was left out because it could not list; must not throw. */
  readonly onLeftOut?: ((failure: { readonly source: string; readonly error: unknown }) => void) | undefined;
};

const OPTION_NAMES = ["name", "sameName", "onLeftOut"] as const satisfies readonly (keyof CompositeOptions)[];

/**
 * One provider of the tools of several, in their order. All are listed at the same time; one that fails and is not `optional` fails the listing, which
 * names it. Annotations of a source that is not trusted count for nothing beside one that is.
 */
export function composite(providers: readonly ToolProvider[], options: CompositeOptions = {}): ToolProvider {
  checkProviders("composite", providers);
  const { name, sameName, onLeftOut } = checked(options);
  const parts = [...new Set(providers)];
  const trusted = parts.some((part) => part.trustAnnotations === true);
  const shown = parts.map((part) => new Shown(part, { distrust: trusted }));
  return routedTools({
    name,
    optional: parts.length > 0 && parts.every((part) => part.optional === true) ? true : undefined,
    trustAnnotations: trusted ? true : undefined,
    parts,
    async list(context) {
      const lists = await Promise.all(parts.map((part) => listed(part, context, onLeftOut)));
      const routes = shown.flatMap((part, index) => (lists[index] ?? []).map((def) => part.route(def)));
      return eachNameOnce(routes, sameName);
    },
  });
}

function checked(options: CompositeOptions) {
  checkFields("composite", options, OPTION_NAMES);
  const { name = "composite", sameName = "fail", onLeftOut } = options;
  const faults = [
    [typeof name !== "string", "a name that is no text"],
    [sameName !== "fail" && sameName !== "first-wins", 'sameName that is neither "fail" nor "first-wins"'],
    [onLeftOut !== undefined && typeof onLeftOut !== "function", "onLeftOut that is no function"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `composite has ${fault[1]}`);
  return { name, sameName, onLeftOut };
}

async function listed(
  part: ToolProvider,
  context: ListContext,
  onLeftOut: CompositeOptions["onLeftOut"],
): Promise<readonly ToolDef[]> {
  try {
    return await listedBy(part, context);
  } catch (error) {
    if (Defect.is(error) || (error instanceof CompositionError && error.kind === "tool-collision")) throw error;
    const source = labelOf(part);
    if (part.optional !== true) throw new Error(`${source} could not list its tools`, { cause: error });
    onLeftOut?.({ source, error });
    return [];
  }
}

function eachNameOnce(routes: readonly Route[], sameName: CompositeOptions["sameName"]): readonly Route[] {
  const byName = new Map<string, Route>();
  for (const route of routes) {
    const taken = byName.get(route.def.name);
    if (taken === undefined) byName.set(route.def.name, route);
    else if (sameName === "fail" || taken.provider === route.provider) throw collision(taken, route);
  }
  return [...byName.values()];
}

function collision(one: Route, two: Route): CompositionError {
  const [first, second] = [one, two].map(({ def, provider }) => safeLabel(def.source ?? labelOf(provider)));
  return new CompositionError("tool-collision", `tool ${safeLabel(one.def.name)} comes from ${first} and ${second}`);
}

function labelOf({ name }: ToolProvider): string {
  return name === undefined ? "a tool provider without a name" : safeLabel(name);
}

/** The definitions of a part as the whole shows them; the same object for the same definition, so that an unchanged list is seen to be one. */
class Shown {
  readonly #part: ToolProvider;
  readonly #distrust: boolean;
  readonly #defs = new WeakMap<ToolDef, ToolDef>();

  /** `distrust`: the whole is trusted, so that a part that is not has to lose what it claims. */
  constructor(part: ToolProvider, options: { readonly distrust: boolean }) {
    this.#part = part;
    this.#distrust = options.distrust;
  }

  route(def: ToolDef): Route {
    let shown = this.#defs.get(def);
    if (shown === undefined) this.#defs.set(def, (shown = this.#shown(def)));
    return { def: shown, provider: this.#part, name: def.name };
  }

  #shown(def: ToolDef): ToolDef {
    const { name, trustAnnotations } = this.#part;
    const sourced = def.source === undefined && name !== undefined ? { ...def, source: name } : def;
    if (!this.#distrust || trustAnnotations === true || sourced.annotations === undefined) return sourced;
    const { annotations, ...rest } = sourced;
    return annotations.title === undefined ? rest : { ...rest, annotations: { title: annotations.title } };
  }
}
