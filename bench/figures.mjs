import { targets } from "./targets.mjs";

/** The figures of the cases that ran; one that needs a case that did not run is left out. */
export function caseFigures(runs) {
  return [
    ...["turn", "tools", "rounds-50", "chunks", "session", "arguments", "sessions-at-once"].flatMap((name) =>
      runs[name] === undefined ? [] : [figure(`${name}.ratio`, ratioOf(runs[name]))],
    ),
    ...(runs["rounds-50"] === undefined || runs["rounds-200"] === undefined
      ? []
      : [figure("rounds.exponent", exponentOf(runs["rounds-50"], runs["rounds-200"]))]),
    ...(runs["session"] === undefined ? [] : [figure("session.growth", growthOf(runs["session"]))]),
    ...(runs["sessions-at-once"] === undefined
      ? []
      : [figure("sessions-at-once.peak", peakOf(runs["sessions-at-once"]))]),
    ...others(runs),
  ];
}

/** Cases without a target show their ratio all the same. */
function others(runs) {
  const rest = Object.keys(runs).filter((name) => targets[`${name}.ratio`] === undefined);
  return rest.map((name) => ({ id: `${name}.ratio`, title: name, unit: "x", ...ratioOf(runs[name]) }));
}

/** A measured value with its title, target and stretch. */
export function figure(id, measured) {
  const { title, unit, target, stretch } = targets[id];
  const reached = target === undefined ? undefined : measured.value <= target;
  return { id, title, unit, target, stretch, ...measured, reached };
}

/** Median CPU time per turn of both, the ratio of the two, and the lowest and highest ratio of two neighbouring runs. */
function ratioOf({ plan, bare, ennead }) {
  const perTurn = (run) => sum(run.laps) / plan.turns;
  const pairs = bare.map((run, at) => perTurn(ennead[at]) / perTurn(run));
  const [ours, theirs] = [median(ennead.map(perTurn)), median(bare.map(perTurn))];
  const note = `${micro(ours)} against ${micro(theirs)} a turn`;
  return { value: ours / theirs, low: Math.min(...pairs), high: Math.max(...pairs), note };
}

/** The exponent of CPU time a turn over the rounds a turn has. */
function exponentOf(short, long) {
  const perTurn = (runs) => median(runs.ennead.map((run) => sum(run.laps) / runs.plan.turns));
  const value = Math.log(perTurn(long) / perTurn(short)) / Math.log(long.rounds / short.rounds);
  return { value, note: `from ${short.rounds} to ${long.rounds} rounds` };
}

/** Last lap of a session against its first, over all measured sessions. */
function growthOf({ plan, ennead }) {
  const laps = plan.turnsPerSession / plan.lap;
  const at = (offset) => median(ennead.flatMap((run) => run.laps.filter((_, lap) => lap % laps === offset)));
  return { value: at(laps - 1) / at(0), note: `the last ${plan.lap} turns against the first` };
}

function peakOf({ peaks }) {
  const [ours, theirs] = [median(peaks.ennead) / 1024, median(peaks.bare) / 1024];
  return { value: ours, note: `bare ${theirs.toFixed(0)} MiB` };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[middle - 0.5] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const micro = (microseconds) => `${microseconds.toFixed(microseconds < 100 ? 1 : 0)} us`;
