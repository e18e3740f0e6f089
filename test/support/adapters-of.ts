import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { importsOf } from "./module-graph.ts";

/** The interface of each port, by the name of its table of claims. */
export const portOfTable: Readonly<Record<string, string>> = {
  modelPortClaims: "ModelPort",
  toolProviderClaims: "ToolProvider",
  sessionStoreClaims: "SessionStore",
  observerClaims: "Observer",
  compressorClaims: "Compressor",
  pipelineHookClaims: "PipelineHook",
  memoryPortClaims: "MemoryPort",
  lifecycleClaims: "Lifecycle",
  commandPortClaims: "CommandPort",
};

/** Something exported that makes adapters of a port: a class, or a function that answers one. */
export type Maker = { readonly source: string; readonly name: string; readonly table: string };

/** Every export of these sources whose instances or results are adapters, once for each port they fit, as the compiler sees it. */
export function makersOf(sources: readonly string[]): readonly Maker[] {
  const { config } = ts.readConfigFile("tsconfig.json", (path) => readFileSync(path, "utf8")) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve("."));
  const program = ts.createProgram(
    [...sources, "src/ports/index.ts"].map((path) => resolve(path)),
    options,
  );
  const checker = program.getTypeChecker();
  const exportsOf = (path: string): readonly ts.Symbol[] => {
    const file = program.getSourceFile(resolve(path));
    const module = file && checker.getSymbolAtLocation(file);
    return module === undefined ? [] : checker.getExportsOfModule(module).map((symbol) => target(checker, symbol));
  };
  const interfaces = new Map(exportsOf("src/ports/index.ts").map((symbol) => [symbol.name, symbol]));
  const ports = Object.entries(portOfTable).map(([table, name]) => {
    const symbol = interfaces.get(name);
    if (symbol === undefined) throw new Error(`src/ports has no ${name}`);
    return { table, type: checker.getDeclaredTypeOfSymbol(symbol) };
  });
  return sources.flatMap((source) =>
    exportsOf(source).flatMap((symbol) =>
      ports
        .filter(({ type }) => madeBy(checker, symbol).some((made) => fits(checker, made, type)))
        .map(({ table }) => ({ source, name: symbol.name, table })),
    ),
  );
}

function target(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** What it constructs, or what it returns, a promise of it included. */
function madeBy(checker: ts.TypeChecker, symbol: ts.Symbol): readonly ts.Type[] {
  if (symbol.valueDeclaration === undefined) return [];
  const type = checker.getTypeOfSymbol(symbol);
  const signatures = [...type.getConstructSignatures(), ...type.getCallSignatures()];
  return signatures.map((signature) => {
    const made = signature.getReturnType();
    return checker.getAwaitedType(made) ?? made;
  });
}

function fits(checker: ts.TypeChecker, made: ts.Type, port: ts.Type): boolean {
  if (made.flags & (ts.TypeFlags.Any | ts.TypeFlags.Never | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter))
    return false;
  return checker.isTypeAssignableTo(made, port);
}

/** All words of a test and of the test files it imports. */
export function wordsOf(path: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(path)) return new Set();
  seen.add(path);
  const text = readFileSync(path, "utf8");
  const imported = importsOf(path, text)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(path), specifier).replace(/\.js$/, ".ts"))
    .filter((file) => file.startsWith("test/") && ts.sys.fileExists(file));
  const words = text.match(/[A-Za-z_$][\w$]*/g) ?? [];
  return new Set([...words, ...imported.flatMap((file) => [...wordsOf(file, seen)])]);
}
