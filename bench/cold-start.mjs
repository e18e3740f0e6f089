import assert from "node:assert/strict";
import { resolve } from "node:path";
import { figure, median } from "./figures.mjs";
import { runScript } from "./process.mjs";

const kinds = ["empty", "schema-library", "agent"];

/** CPU time of a fresh process up to a built agent, less that of an empty one; the note tells what loading the schema library file by file would take alone. */
export async function coldStartFigures({ repeat }) {
  const times = Object.fromEntries(kinds.map((kind) => [kind, []]));
  for (let at = 0; at < repeat; at++) {
    for (const kind of kinds) {
      const { cpu, tools } = await runScript(resolve(import.meta.dirname, "cold", `${kind}.mjs`));
      if (kind === "agent") assert.deepEqual(tools, ["greet"], "the agent was not built");
      times[kind].push(cpu / 1000);
    }
  }
  const [empty, schemas, agent] = kinds.map((kind) => median(times[kind]));
  const note = `empty ${ms(empty)}, importing the whole schema library instead of its bundled part costs ${ms(schemas - empty)}, ${repeat} runs`;
  return [figure("cold-start.cpu", { value: agent - empty, note })];
}

const ms = (value) => `${value.toFixed(1)} ms`;
