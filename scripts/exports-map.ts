import { entries } from "./entries.ts";

/** The `exports` of package.json, made from the table of entries. */
export const exportsMap = (): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(
    entries.map(({ specifier, out }) => [
      specifier.replace(/^ennead/, "."),
      {
        import: { types: `./dist/${out}.d.ts`, default: `./dist/${out}.js` },
        require: { types: `./dist/${out}.d.cts`, default: `./dist/${out}.cjs` },
      },
    ]),
  ),
  "./package.json": "./package.json",
});
