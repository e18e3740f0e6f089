import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { figure, median } from "./figures.mjs";
import { runScript } from "./process.mjs";

const folder = resolve(import.meta.dirname, "cold");
const kinds = readdirSync(folder).map((file) => basename(file, ".mjs"));
const modelKinds = kinds.filter((kind) => kind.startsWith("models-"));

/**
 * CPU time of a fresh process up to a built agent, and up to a model of each entry, less that of an empty one. The note of the agent
 * tells what loading the schema library file by file would take alone.
 */
export async function coldStartFigures({ repeat }) {
  const times = Object.fromEntries(kinds.map((kind) => [kind, []]));
  for (let at = 0; at < repeat; at++) {
    // All kinds in turn, so that what else the machine does hits all of them.
    for (const kind of kinds) times[kind].push(await cpuOf(kind));
  }
  const over = (kind) => median(times[kind]) - median(times.empty);
  const note = `empty ${ms(median(times.empty))}, ${repeat} runs`;
  const schemas = `importing the whole schema library instead of its bundled part costs ${ms(over("schema-library"))}`;
  return [
    figure("cold-start.cpu", { value: over("agent"), note: `${note}, ${schemas}` }),
    ...modelKinds.map((kind) => figure(`cold-start.${kind}`, { value: over(kind), note })),
  ];
}

async function cpuOf(kind) {
  const { cpu, tools, model } = await runScript(resolve(folder, `${kind}.mjs`));
  if (kind === "agent") assert.deepEqual(tools, ["greet"], "the agent was not built");
  if (modelKinds.includes(kind)) assert.equal(typeof model?.provider, "string", `${kind} was not made`);
  return cpu / 1000;
}

const ms = (value) => `${value.toFixed(1)} ms`;
