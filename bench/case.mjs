import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { runScript } from "./process.mjs";
import { expectedDigest } from "./subjects/digest.mjs";

const child = resolve(import.meta.dirname, "child.mjs");

/** The cases of a folder, by name. */
export function caseFiles(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  return files.sort().map((file) => ({ name: basename(file, ".mjs"), file: resolve(folder, file) }));
}

/** Runs both variants in fresh processes, turn about, and checks what each left behind. Rejects when that is not what the script demands. */
export async function runCase(file, { quick, repeat }) {
  const { plan: full, replies } = await import(pathToFileURL(file).href);
  const { quick: small, ...whole } = full;
  const plan = quick ? small : whole;
  // The last reply of a turn calls no tool.
  const runs = { plan, rounds: replies.length - 1, bare: [], ennead: [] };
  for (let at = 0; at < repeat; at++) {
    const bare = await runScript(child, file, "bare", JSON.stringify(plan));
    const ennead = await runScript(child, file, "ennead", JSON.stringify(plan));
    checkDigests(basename(file, ".mjs"), { plan, replies, bare: bare.digest, ennead: ennead.digest });
    runs.bare.push(bare);
    runs.ennead.push(ennead);
  }
  if (plan.atOnce !== undefined) runs.peaks = await peaks(file, plan, repeat);
  return runs;
}

/** Memory of the many at once, started once in a process that has done nothing before. */
async function peaks(file, { atOnce }, repeat) {
  const plan = JSON.stringify({ warmUp: 0, turns: atOnce, atOnce });
  const kib = { bare: [], ennead: [] };
  for (let at = 0; at < repeat; at++) {
    for (const variant of ["bare", "ennead"]) kib[variant].push((await runScript(child, file, variant, plan)).peakKiB);
  }
  return kib;
}

/** Throws unless both digests are what the script demands and the stored messages of both are the same. */
export function checkDigests(name, { plan, replies, bare, ennead }) {
  const { warmUp, turns, turnsPerSession = 1 } = plan;
  const expected = expectedDigest({ replies, turns: warmUp + turns, turnsPerSession });
  for (const [variant, digest] of Object.entries({ bare, ennead })) {
    const { hash, ...stored } = digest.stored;
    assert.match(hash, /^[0-9a-f]{16}$/);
    assert.deepEqual({ ...digest, stored }, expected, `${name}: what ${variant} did is not what the script demands`);
  }
  assert.equal(ennead.stored.hash, bare.stored.hash, `${name}: the two variants stored different messages`);
}
