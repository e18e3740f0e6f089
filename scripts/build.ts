import { rmSync } from "node:fs";
import { build } from "tsup";

/**
 * Builds dist. `--javascript-only` is for `npm install`: without declarations, and without failing the installation when the
 * sources do not build; `npm run build` tells why.
 */
const afterInstall = process.argv.includes("--javascript-only");
if (afterInstall) process.env["SKIP_DECLARATIONS"] = "1";
rmSync("dist", { recursive: true, force: true });
try {
  await build({});
} catch (error) {
  if (!afterInstall) throw error;
  console.warn("Not built: npm run build tells why.");
}
