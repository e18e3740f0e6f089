import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundleFigures } from "./bundle.mjs";
import { caseFiles, runCase } from "./case.mjs";
import { coldStartFigures } from "./cold-start.mjs";
import { caseFigures } from "./figures.mjs";
import { machine, table } from "./report.mjs";
import { sessionFigures } from "./sessions.mjs";

/**
 * Measures and prints every figure; `README.md` says how to read them. A result that is not what the script demands ends the run with
 * an error; a target that is missed does not.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    repeat: { type: "string" },
    json: { type: "string" },
    cases: { type: "string", default: resolve(import.meta.dirname, "cases") },
  },
});
const { quick } = options;
const repeat = Number(options.repeat ?? (quick ? 1 : 5));
const wanted = (name) => options.only.length === 0 || options.only.includes(name);
const runs = {};
const figures = [];

for (const { name, file } of caseFiles(options.cases)) {
  if (!wanted(name)) continue;
  progress(name);
  runs[name] = await runCase(file, { quick, repeat });
}
figures.push(...caseFigures(runs));
if (wanted("cold-start")) {
  progress("cold-start");
  figures.push(...(await coldStartFigures({ repeat: quick ? 2 : 2 * repeat + 1 })));
}
if (wanted("sessions")) {
  progress("sessions");
  figures.push(...(await sessionFigures({ quick })));
}
if (wanted("bundle")) figures.push(...(await bundleFigures()));
if (wanted("memory")) {
  progress("memory");
  const { memoryFigures } = await import("./memory.mjs");
  figures.push(...(await memoryFigures({ quick })));
}
if (figures.length === 0) throw new Error(`there is no case ${options.only.join(", ")}`);

console.log(machine({ repeat, quick }));
console.log(table(figures));
if (options.json !== undefined)
  writeFileSync(
    options.json,
    `${JSON.stringify({ machine: machine({ repeat, quick }), figures, runs }, undefined, 2)}\n`,
  );

function progress(name) {
  if (process.stderr.isTTY) process.stderr.write(`${name}\n`);
}
