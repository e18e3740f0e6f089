import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { clearPlace } from "./clear-place.js";
import { killWriters } from "./kills.js";
import { openStore, type StorePlace, STORES } from "./store-place.js";
import { raceAgents, runTurns, type TurnsTask } from "./turns.js";
import { write, type WriterTask } from "./writer.js";

const USAGE = `npm run soak -- --store ${STORES.join("|")} [--kills N] [--writers N --turns N] [--url URL]

--kills N     kills N writing processes at random moments, and looks for acknowledged messages that are lost, half
              records, wrong order and doubled messages
--writers N   runs agents in N processes on one session, --turns each, and looks for turns that are not whole
--url URL     of a server; else ENNEAD_POSTGRES_URL or ENNEAD_REDIS_URL, else where it listens by default
`;

const SERVERS: Readonly<Record<string, string>> = {
  postgres: process.env["ENNEAD_POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres",
  redis: process.env["ENNEAD_REDIS_URL"] ?? "redis://127.0.0.1:6379",
};

/** A role of a child process, as JSON, or the flags of a soak. */
const [first = ""] = process.argv.slice(2);
if (first.startsWith("{")) await play(JSON.parse(first) as WriterTask | TurnsTask);
else await soak();

async function play(task: WriterTask | TurnsTask): Promise<void> {
  if (task.role === "writer") return write(task);
  const store = openStore(task.place);
  await runTurns(store, task, (line) => void process.stdout.write(`${line}\n`));
  await store.close?.();
}

async function soak(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { store: text, kills: text, writers: text, turns: text, url: text } });
  const kind = STORES.find((name) => name === values.store);
  const kills = Number(values.kills ?? 0);
  const writers = Number(values.writers ?? 0);
  if (kind === undefined || !(kills > 0 || writers > 0) || (kind === "memory" && kills > 0)) {
    process.stderr.write(kind === "memory" ? `Nothing in memory outlives its process.\n${USAGE}` : USAGE);
    process.exitCode = 2;
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "ennead-soak-"));
  const name = `ennead_soak_${randomBytes(6).toString("hex")}`;
  const place: StorePlace = { kind, at: values.url ?? SERVERS[kind] ?? directory, name };
  try {
    if (kills > 0) report(kind, await timed(killWriters(place, kills, { tell: progress })));
    if (writers > 0) report(kind, await timed(raceAgents(place, writers, Number(values.turns ?? 100))));
  } finally {
    rmSync(directory, { recursive: true, force: true });
    await clearPlace(place);
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function timed<T extends object>(run: Promise<T>): Promise<T & { readonly seconds: number }> {
  const begin = performance.now();
  const counted = await run;
  return { ...counted, seconds: Math.round((performance.now() - begin) / 1_000) };
}

/** One line of JSON; the process fails where there is a fault. */
function report(store: string, { faults, ...counted }: { readonly faults: readonly string[] }): void {
  process.stdout.write(`${JSON.stringify({ store, ...counted, faults: faults.length })}\n`);
  for (const fault of faults.slice(0, 20)) process.stderr.write(`FAULT ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
