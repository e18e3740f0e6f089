import { rmSync } from "node:fs";
import { build } from "tsup";

/**
 * Builds dist. `--javascript-only` is for `npm install`: without declarations, and without failing the installation when the
 * sources do not build; `npm run build` tells why. npm runs that script before it packs, too, and then everything is built.
 */
const packing = ["pack", "publish"].includes(process.env["npm_command"] ?? "");
const afterInstall = process.argv.includes("--javascript-only") && !packing;
if (afterInstall) process.env["SKIP_DECLARATIONS"] = "1";
rmSync("dist", { recursive: true, force: true });
try {
  await build({});
} catch (error) {
  if (!afterInstall) throw error;
  console.warn("Not built: npm run build tells why.");
}
