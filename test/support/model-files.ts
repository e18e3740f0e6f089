import { sharedModelFiles } from "../../scripts/model-files.ts";
import { type Module, targetOf } from "./module-graph.ts";

const FOLDER = "src/adapters/models/";

/** Every file of the model adapters that an entry pulls in, itself included. */
export function modelFilesOf(entry: string, modules: readonly Module[]): ReadonlySet<string> {
  const imports = new Map(modules.map((module) => [module.path, module.imports]));
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (!path.startsWith(FOLDER) || found.has(path)) return;
    found.add(path);
    for (const specifier of imports.get(path) ?? []) visit(targetOf(path, specifier) ?? "");
  };
  visit(entry);
  return found;
}

/** Each file that several entries pull in without being shared between them, and each file that is called shared but is not. */
export function sharingViolations(entries: readonly string[], modules: readonly Module[]): readonly string[] {
  const users = new Map<string, string[]>();
  for (const entry of entries) {
    for (const file of modelFilesOf(entry, modules)) users.set(file, [...(users.get(file) ?? []), entry]);
  }
  const wrong = [...users].flatMap(([file, by]) => {
    const allowed = sharedModelFiles.get(file) ?? [];
    const strangers = allowed === "any" ? [] : by.filter((entry) => !allowed.includes(entry));
    return by.length > 1 && strangers.length > 0 ? [`${file} is pulled in by ${by.join(", ")}`] : [];
  });
  const stale = [...sharedModelFiles.keys()].filter((file) => (users.get(file)?.length ?? 0) < 2);
  return [...wrong, ...stale.map((file) => `${file} is not shared`)];
}
