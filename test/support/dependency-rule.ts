import { builtinModules } from "node:module";
import { bundled, peers } from "../../scripts/entries.ts";
import { cyclesOf, type Module, packageOf, targetOf } from "./module-graph.ts";

const testkit = "ennead/testkit";
const container = "src/agent/container.ts";
/** No adapters: what stores of several ports need of one technology. */
const databases = "adapters/databases";
const clockFiles = ["src/agent/in-process-scope.ts", "src/agent/system-runtime.ts"];

/** A layer is a folder of src; each folder of adapters is one of its own, and src/index.ts is the layer "index". */
function layerOf(path: string): string {
  const [, layer = "", kind = ""] = path.split("/");
  if (layer === "adapters") return `adapters/${kind}`;
  return layer === "index.ts" ? "index" : layer;
}

function mayReach(from: string, target: string): boolean {
  const own = layerOf(from);
  const other = layerOf(target);
  if (target === container || other === "index") return false;
  if (own === "adapters/hosts") return other !== "testkit";
  if (other === own) return true;
  if (own === "domain") return false;
  if (own === "ports") return other === "domain";
  if (own.startsWith("adapters/") && other === databases) return true;
  if (own === "agent" || own.startsWith("adapters/")) return other === "domain" || other === "ports";
  if (own === "testkit") return ["domain", "ports", "agent"].includes(other);
  if (own === "index")
    return ["domain", "ports", "agent"].includes(other) || target === "src/adapters/hooks/define-hook.ts";
  return false;
}

function mayUsePackage(from: string, name: string): boolean {
  if (peers[name]) return peers[name].includes(from);
  return layerOf(from).startsWith("adapters/") && Object.hasOwn(bundled, name);
}

/** The command line checks adapters with the testkit, which must cost nobody else anything: types, and loaded on demand. */
function mayLoadTestkit({ path, imports, eager = imports }: Module): boolean {
  return layerOf(path) === "adapters/hosts" && !eager.includes(testkit);
}

function mayUsePlatform(from: string): boolean {
  const layer = layerOf(from);
  return layer.startsWith("adapters/") || layer === "testkit" || clockFiles.includes(from);
}

/** Every import that breaks the dependency rule, one line each, and every cycle. */
export function violationsOf(modules: readonly Module[]): readonly string[] {
  const forbidden = modules.flatMap((module) => {
    const { path, imports } = module;
    return imports
      .filter((specifier) => {
        if (specifier === testkit) return !mayLoadTestkit(module);
        const target = targetOf(path, specifier);
        if (target !== undefined) return !mayReach(path, target);
        const platform = specifier.startsWith("node:") || builtinModules.includes(packageOf(specifier));
        return platform ? !mayUsePlatform(path) : !mayUsePackage(path, packageOf(specifier));
      })
      .map((specifier) => `${path} may not import ${specifier}`);
  });
  return [...forbidden, ...cyclesOf(modules).map((cycle) => `cycle: ${cycle.join(" -> ")}`)];
}
