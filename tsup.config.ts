import { defineConfig, type Options } from "tsup";
import { bundled, cli, entries } from "./scripts/entries.ts";
import { groupEntries, grouped } from "./scripts/grouped.ts";

const sources = Object.fromEntries(entries.map(({ out, source }) => [out, source]));

const shared: Options = {
  outDir: "dist",
  target: "node22",
  splitting: true,
  treeshake: false,
  removeNodeProtocol: false,
  clean: false,
  // Bundled: their many small files would cost more to load than everything of our own.
  noExternal: Object.keys(bundled).map((name) => new RegExp(`^${name}(/|$)`)),
  silent: true,
};

const declarations: Options = { ...shared, format: ["esm", "cjs"], entry: sources, dts: { only: true } };

/** Added late, because tsup itself only takes entries that are files. */
const withGroups: NonNullable<Options["esbuildOptions"]> = (options) => {
  options.entryPoints = { ...(options.entryPoints as Record<string, string>), ...groupEntries };
};

export default defineConfig([
  {
    ...shared,
    format: ["esm"],
    entry: { ...sources, [cli.out]: cli.source },
    esbuildPlugins: [grouped(".js")],
    esbuildOptions: withGroups,
  },
  { ...shared, format: ["cjs"], entry: sources, esbuildPlugins: [grouped(".cjs")], esbuildOptions: withGroups },
  ...(process.env["SKIP_DECLARATIONS"] ? [] : [declarations]),
]);
