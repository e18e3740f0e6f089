import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { readApi } from "./api-report.ts";
import { exportsMap } from "./exports-map.ts";

/** Compares the public surface with what is committed: the reports in docs/api and the exports map. `--write` updates both. */
const write = process.argv.includes("--write");
const kept = "docs/api";
const target = write ? kept : ".cache/api";
let failed = false;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const { entry, report } of readApi()) writeFileSync(`${target}/${entry.out}.md`, report);
if (!write) {
  mkdirSync(kept, { recursive: true });
  const diff = spawnSync("git", ["diff", "--no-index", "--exit-code", kept, target], { encoding: "utf8" });
  if (diff.status !== 0) {
    console.error(
      `${diff.stdout}${diff.stderr}\nThe public API changed. If that is meant: npm run api, and commit docs/api.`,
    );
    failed = true;
  }
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { exports?: unknown };
if (!isDeepStrictEqual(manifest.exports, exportsMap())) {
  if (write) {
    manifest.exports = exportsMap();
    writeFileSync("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
  } else {
    console.error("The exports of package.json differ from scripts/entries.ts. Run: npm run api");
    failed = true;
  }
}
process.exitCode = failed ? 1 : 0;
