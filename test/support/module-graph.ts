import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import ts from "typescript";

export interface Module {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly imports: readonly string[];
  /** Those of them that are loaded with the module; absent, all of them. */
  readonly eager?: readonly string[];
}

/**
 * Every specifier a source text names: import, export from, import(), import type, import = and require(). With `eager`, only what is
 * loaded with the module: neither types nor what an import() loads later.
 */
export function importsOf(
  path: string,
  text: string,
  { eager = false }: { readonly eager?: boolean } = {},
): readonly string[] {
  const found: string[] = [];
  const add = (node: ts.Node | undefined): void => {
    if (node && ts.isLiteralTypeNode(node)) add(node.literal);
    else if (node && ts.isStringLiteralLike(node)) found.push(node.text);
  };
  const isLazy = (node: ts.Node): boolean =>
    (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) ||
    (ts.isExportDeclaration(node) && node.isTypeOnly) ||
    ts.isImportTypeNode(node) ||
    (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword);
  const visit = (node: ts.Node): void => {
    if (eager && isLazy(node)) return;
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isImportTypeNode(node)) add(node.argument);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isCallExpression(node)) {
      const callee = node.expression;
      const loads =
        callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === "require");
      if (loads) add(node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true));
  return found;
}

/** Reads all modules under a folder. */
export function readModules(folder: string): readonly Module[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name).split(sep).join("/"))
    .sort()
    .map((path) => {
      const text = readFileSync(path, "utf8");
      return { path, imports: importsOf(path, text), eager: importsOf(path, text, { eager: true }) };
    });
}

/** The path a relative specifier leads to, or undefined for a package or a platform module. */
export function targetOf(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, ".ts");
}

/** The name of the package a specifier belongs to, without its subpath. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Each cycle once, as the modules on it. */
export function cyclesOf(modules: readonly Module[]): readonly (readonly string[])[] {
  const edges = new Map(
    modules.map(({ path, imports }) => [path, imports.flatMap((specifier) => targetOf(path, specifier) ?? [])]),
  );
  const done = new Set<string>();
  const cycles: string[][] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) cycles.push([...trail.slice(at), path]);
    if (at >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) walk(path, []);
  return cycles;
}
