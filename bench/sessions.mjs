import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { median } from "./figures.mjs";
import { runScript } from "./process.mjs";
import { kinds, openStore } from "./stores/open.mjs";
import { serverOf } from "./stores/servers.mjs";

const child = resolve(import.meta.dirname, "stores/child.mjs");
const whole = { counts: [100, 1_000, 10_000, 100_000], appends: 100, loads: 5, sessions: 1_000, rounds: 5 };
const small = { counts: [10, 100], appends: 3, loads: 2, sessions: 20, rounds: 2 };

/**
 * Time of appends and loads of every store at growing sessions, of many sessions at once, and memory; each in a fresh process on a fresh store. A
 * store whose server is neither named nor installed is left out, and the reason is printed.
 */
export async function sessionFigures({ quick }) {
  const plan = quick ? small : whole;
  const figures = [];
  for (const kind of kinds) {
    const server = await serverOf(kind);
    if (server.missing !== undefined) {
      console.warn(`sessions in ${kind} are left out: ${server.missing}`);
      continue;
    }
    try {
      figures.push(...(await figuresOf(kind, server.url, plan)));
    } finally {
      await server.stop();
    }
  }
  return figures;
}

async function figuresOf(kind, url, { counts, appends, loads, sessions, rounds }) {
  const folder = mkdtempSync(join(tmpdir(), "ennead-bench-sessions-"));
  let number = 0;
  const measure = async (task) => {
    const name = `ennead_bench_${process.pid}_${number++}`;
    const place = { kind, url, name, folder: join(folder, name) };
    mkdirSync(place.folder);
    try {
      return await runScript(child, JSON.stringify(place), JSON.stringify(task));
    } finally {
      await empty(place);
    }
  };
  try {
    const runs = [];
    for (const count of counts) runs.push(await measure({ count, appends, loads }));
    const many = await measure({ sessions, rounds });
    return [...growthOf(kind, counts, runs), ...manyOf(kind, sessions, many)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What is on a server stays there otherwise, if the server is not our own. */
async function empty(place) {
  if (place.url === undefined) return;
  const store = await openStore(place);
  for (let page = await store.list({ limit: 500 }); page.items.length > 0; page = await store.list({ limit: 500 })) {
    for (const { id } of page.items) await store.delete(id);
  }
  await store.close();
}

/** An append is to cost the same at any length; a load is to grow as the session does. */
function growthOf(kind, counts, runs) {
  const [appends, tails, loads] = ["append", "tail", "load"].map((name) => runs.map((run) => median(run[name])));
  const lengths = counts.map(short).join(", ");
  const last = counts.length - 1;
  const first = Math.min(1, last - 1);
  const exponent = Math.log(loads[last] / loads[first]) / Math.log(counts[last] / counts[first]);
  const ratio = { unit: "x", target: 2 };
  return [
    row(kind, "append", {
      title: `append to ${short(counts[last])} messages against ${short(counts[0])}`,
      ...ratio,
      value: appends[last] / appends[0],
      note: `${list(appends)} ms by the clock at ${lengths}`,
    }),
    row(kind, "tail", {
      title: `load of what is new, of ${short(counts[last])} against ${short(counts[0])}`,
      ...ratio,
      value: tails[last] / tails[0],
      note: `${list(tails)} ms by the clock at ${lengths}`,
    }),
    row(kind, "load", {
      title: `growth of a load from ${short(counts[first])} to ${short(counts[last])} messages`,
      unit: "exponent",
      target: 1.2,
      value: exponent,
      note: `${list(loads)} ms by the clock at ${lengths}`,
    }),
    row(kind, "memory", {
      title: `peak memory with a session of ${short(counts[last])}`,
      unit: "MiB",
      value: runs[last].peakMiB,
      note: `${runs.map(({ peakMiB }) => peakMiB.toFixed(0)).join(", ")} MiB at ${lengths}`,
    }),
  ];
}

function manyOf(kind, sessions, { atOnce, peakMiB }) {
  return [
    row(kind, "at-once", {
      title: `${short(sessions)} sessions at once, an append and a load each`,
      unit: "ms",
      value: median(atOnce),
      note: `by the clock; peak memory ${peakMiB.toFixed(0)} MiB`,
    }),
  ];
}

function row(kind, name, { title, target, value, ...rest }) {
  const reached = target === undefined ? undefined : value <= target;
  return { id: `sessions.${kind}.${name}`, title: `${kind}: ${title}`, target, value, ...rest, reached };
}

const short = (count) => count.toLocaleString("en-US");
const list = (values) => values.map((value) => value.toPrecision(2)).join(", ");
