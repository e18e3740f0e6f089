/** Bundles the soak from the sources, as its own child processes need it too, and runs it: `npm run soak -- --help`. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

// Below the repository, where its packages are found.
mkdirSync(".cache", { recursive: true });
const directory = mkdtempSync(resolve(".cache/soak-"));
try {
  const outfile = join(directory, "soak.mjs");
  const options = { bundle: true, packages: "external", platform: "node", format: "esm", target: "node22" } as const;
  await build({ entryPoints: ["scripts/soak/main.ts"], outfile, ...options });
  const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
