import type { ToolDef } from "../../../domain/tool.js";
import type { ToolProvider } from "../../../ports/tool-provider.js";
import { joinedName } from "../joined-name.js";
import { checkProviders } from "./forwarded.js";
import { listedBy } from "./listed-by.js";
import { routedTools } from "./routed-tools.js";

/**
 * The same tools under `namespace__name`, legal for every provider and never the same for two of them (`joinedName`). The tools themselves see
 * their own names. Throws `CompositionError("invalid-config")` for an empty namespace.
 */
export function namespaced(provider: ToolProvider, namespace: string): ToolProvider {
  checkProviders("namespaced", [provider]);
  joinedName(namespace, "");
  const defs = new WeakMap<ToolDef, ToolDef>();
  const shown = (def: ToolDef): ToolDef => {
    let joined = defs.get(def);
    if (joined === undefined)
      defs.set(def, (joined = Object.freeze({ ...def, name: joinedName(namespace, def.name) })));
    return joined;
  };
  const { name, optional, trustAnnotations } = provider;
  return routedTools({
    name: name ?? namespace,
    optional,
    trustAnnotations,
    parts: [provider],
    list: async (context) =>
      (await listedBy(provider, context)).map((def) => ({ def: shown(def), provider, name: def.name })),
  });
}
