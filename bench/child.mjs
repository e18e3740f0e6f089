import { pathToFileURL } from "node:url";

/** Runs one variant of one case in this process and prints what it cost and what it left behind: `node child.mjs <file> <variant> <plan>`. */
const [file, variant, planText] = process.argv.slice(2);
const { warmUp, turns, turnsPerSession = 1, atOnce = 1, lap = turns } = JSON.parse(planText);
const subject = await (await import(pathToFileURL(file).href))[variant]();

await run(0, warmUp);
const laps = [];
for (let at = 0; at < turns; at += lap) {
  const before = process.cpuUsage();
  await run(warmUp + at, lap);
  const { user, system } = process.cpuUsage(before);
  laps.push(user + system);
}
const peakKiB = process.resourceUsage().maxRSS;
const digest = await subject.digest();
await subject.close();
console.log(JSON.stringify({ laps, peakKiB, digest }));

/** Runs turns `first` to `first + count`, `atOnce` of them side by side. */
async function run(first, count) {
  for (let at = first; at < first + count; at += atOnce) {
    if (atOnce === 1) await turn(at);
    else await Promise.all(Array.from({ length: atOnce }, (_, k) => turn(at + k)));
  }
}

function turn(at) {
  return subject.turn(`session-${Math.floor(at / turnsPerSession)}`);
}
