import { resolve } from "node:path";
import ts from "typescript";
import { type Entry, entries } from "./entries.ts";

export interface EntryApi {
  readonly entry: Entry;
  /** Names that exist at run time. */
  readonly values: readonly string[];
  /** Every export with its signature, and the types that signatures show without exporting them. */
  readonly report: string;
}

const dist = resolve("dist");
const printer = ts.createPrinter({ removeComments: true });

/** Reads the public surface from the built declarations. */
export function readApi(): readonly EntryApi[] {
  const files = new Map(entries.map((entry) => [entry, `dist/${entry.out}.d.ts`]));
  const program = ts.createProgram([...files.values()], {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2024.d.ts", "lib.esnext.disposable.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ["node"],
    strict: true,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();

  const resolved = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

  const exportsOf = (file: string): readonly ts.Symbol[] => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    return module ? checker.getExportsOfModule(module) : [];
  };

  const published = new Set([...files.values()].flatMap((file) => exportsOf(file).map(resolved)));

  const print = (symbol: ts.Symbol): string =>
    (symbol.declarations ?? [])
      .map((declaration) => {
        const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
        return printer
          .printNode(ts.EmitHint.Unspecified, node, declaration.getSourceFile())
          .replaceAll(/\b(\w+)\$\d+\b/g, "$1")
          .replaceAll(/^\s*#private;\n/gm, "");
      })
      .join("\n");

  const collectHidden = (symbol: ts.Symbol, hidden: Set<ts.Symbol>): void => {
    const visit = (node: ts.Node): void => {
      const found = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
      const target = found && resolved(found);
      const topLevel = target?.declarations?.some(
        (declaration) =>
          resolve(declaration.getSourceFile().fileName).startsWith(dist) &&
          (ts.isSourceFile(declaration.parent) || ts.isVariableDeclarationList(declaration.parent)),
      );
      if (target && topLevel && !published.has(target) && !hidden.has(target)) {
        hidden.add(target);
        collectHidden(target, hidden);
      }
      ts.forEachChild(node, visit);
    };
    for (const declaration of symbol.declarations ?? []) visit(declaration);
  };

  return [...files].map(([entry, file]) => {
    const symbols = [...exportsOf(file)].sort((a, b) => (a.name < b.name ? -1 : 1));
    const hidden = new Set<ts.Symbol>();
    for (const symbol of symbols) collectHidden(resolved(symbol), hidden);
    const block = (list: readonly ts.Symbol[]): string =>
      `\`\`\`ts\n${list.map((symbol) => `// ${symbol.name.replace(/\$\d+$/, "")}\n${print(resolved(symbol))}`).join("\n\n")}\n\`\`\`\n`;
    const hiddenList = [...hidden].sort((a, b) => (print(a) < print(b) ? -1 : 1));
    return {
      entry,
      values: symbols.filter((symbol) => resolved(symbol).flags & ts.SymbolFlags.Value).map((symbol) => symbol.name),
      report:
        `# ${entry.specifier}\n\nMade by \`npm run api\` from the built declarations.\n\n${block(symbols)}` +
        (hiddenList.length > 0
          ? `\n## Shown by a signature, not exported here or elsewhere\n\n${block(hiddenList)}`
          : ""),
    };
  });
}
