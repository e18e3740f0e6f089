import { describeThrown } from "../../domain/describe-thrown.js";
import { AgentError } from "../../domain/errors.js";
import { type Session, SESSION_KEYS } from "../../domain/session.js";
import type { TurnResult } from "../../domain/turn-result.js";
import {
  type CrashFault,
  inputFaults,
  lawFaults,
  leaseFaults,
  lostMessages,
  repeatedEffects,
  replayFaults,
  type Undisturbed,
} from "./crash-checks.js";
import type { Settled } from "./crash-clock.js";
import { type CrashTurn, Life, memoryPlace } from "./crash-life.js";
import { type CrashOutcome, type CrashReport, crashReport } from "./crash-report.js";
import type { CrashPlace, CrashScenario } from "./crash-scenario.js";
import { Journal } from "./journal.js";
import type { CrashPoint } from "./journal-scope.js";
import { type ToolRun, Witness } from "./witness.js";

/**
 * Runs a turn once to its end, then again and again, each time in a fresh place, and stops the world behind one of its steps, before or after the outcome
 * is known. Another agent takes the turn up with what outlived the crash; then the transcript law holds, every call has one result, no effect
 * that is not declared idempotent happened twice, and nothing that was stored is lost; what does not hold is in the report. Rejects where the turn
 * does not end even without a crash.
 */
export async function crashPoints(scenario: CrashScenario): Promise<CrashReport> {
  const { steps, ...undisturbed } = await runUndisturbed(scenario);
  const outcomes: CrashOutcome[] = [];
  for (const step of steps)
    for (const acknowledged of [false, true])
      outcomes.push(await crashAt(scenario, { step, acknowledged }, undisturbed));
  return crashReport(steps, outcomes);
}

/** Throws an error that holds the report unless the turn survives a crash at every point. */
export async function assertCrashSafe(scenario: CrashScenario): Promise<CrashReport> {
  const report = await crashPoints(scenario);
  if (report.faults.length > 0) throw new Error(report.text);
  return report;
}

type Reference = Undisturbed & { readonly status: TurnResult["status"]; readonly steps: readonly string[] };

async function runUndisturbed(scenario: CrashScenario): Promise<Reference> {
  return inPlace(scenario, async (place) => {
    const witness = new Witness();
    await beforeTurn(scenario, place, witness);
    const life = await Life.begin(scenario, place, witness, 1);
    const journal = new Journal();
    const settled = await life.turn(turnOf(scenario), { journal, waves: wavesOf(scenario) });
    if (settled.type !== "done")
      throw new Error(`the turn does not end without a crash: ${unfinished(settled, journal)}`);
    const session = await life.stored(settled.value.finalSessionId);
    await life.end();
    const { status } = settled.value;
    return { session, runs: witness.runs, status, steps: journal.steps.map(({ name }) => name) };
  });
}

async function crashAt(
  scenario: CrashScenario,
  point: CrashPoint,
  undisturbed: Omit<Reference, "steps">,
): Promise<CrashOutcome> {
  return inPlace(scenario, async (place) => {
    const witness = new Witness();
    const stood = await beforeTurn(scenario, place, witness);
    const journal = new Journal();
    const doomed = await Life.begin(scenario, place, witness, 1);
    const crashed = await doomed.turn(turnOf(scenario), { journal, waves: wavesOf(scenario), crash: point });
    await doomed.end();
    if (crashed.type !== "stopped") {
      const text = crashed.type === "done" ? "the turn ended" : unfinished(crashed, journal);
      return { ...point, went: "not-reached", faults: [{ kind: "unfinished", text }] };
    }
    const recorded = new Set(journal.steps.filter(({ state }) => state !== "open").map(({ name }) => name));
    const life = await Life.begin(scenario, place, witness, 2);
    const taken = await takeUp(scenario, life, { journal, stood });
    const replayed = taken.went === "replayed";
    const mayRepeat = ({ step }: ToolRun): boolean => replayed && !recorded.has(step);
    const faults = [
      ...taken.faults,
      ...(taken.faults.length > 0 ? [] : await faultsOf(life, witness, undisturbed, taken)),
      ...repeatedEffects(witness.runs, undisturbed, mayRepeat),
    ];
    await life.end();
    return { ...point, went: taken.went, faults };
  });
}

type Taken = Pick<CrashOutcome, "went" | "faults"> & { readonly result?: TurnResult };

async function faultsOf(
  life: Life,
  witness: Witness,
  undisturbed: Omit<Reference, "steps">,
  { went, result }: Taken,
): Promise<CrashFault[]> {
  const faults: CrashFault[] = [];
  // What waited for a person, and was not stored as waiting, is a lost call: the turn may end then.
  if (result !== undefined && result.status !== "completed" && result.status !== undisturbed.status)
    faults.push({ kind: "unfinished", text: `the turn ended as ${result.status}, not as ${undisturbed.status}` });
  const last = result?.finalSessionId ?? life.sessionId;
  for (const id of new Set([last, ...witness.stored.keys()])) {
    const session = await life.stored(id);
    faults.push(...lawFaults(session), ...lostMessages(witness, id, session));
    if (id !== last) continue;
    // Where nothing was left to do but to give the lease back, it expires.
    if (result !== undefined) faults.push(...leaseFaults(id, session));
    faults.push(...inputFaults(undisturbed.session, session));
    if (went === "replayed") faults.push(...replayFaults(undisturbed.session, session));
  }
  return faults;
}

/** Takes the turn up in another life. A turn of which nothing was stored is asked for again: its caller has no answer. */
async function takeUp(
  scenario: CrashScenario,
  life: Life,
  before: { readonly journal: Journal; readonly stood: number },
): Promise<Taken> {
  if (scenario.recovery === "journal") {
    const settled = await life.turn(turnOf(scenario), { journal: before.journal });
    return taken("replayed", settled, before.journal);
  }
  const session = await life.stored();
  const redirected = SESSION_KEYS.redirectedTo in session.metadata;
  const begun = redirected || session.messages.length > before.stood;
  const journal = new Journal();
  const again: CrashTurn = scenario.input === undefined ? stillToDecide(scenario, session) : { kind: "run" };
  const turn: CrashTurn = begun && scenario.input !== undefined ? { kind: "resume" } : again;
  const settled = await life.turn(turn, { journal, waves: "as-they-end" });
  return taken(turn.kind === "resume" ? "resumed" : "ran-again", settled, journal);
}

function taken(went: Taken["went"], settled: Settled<TurnResult>, journal: Journal): Taken {
  if (settled.type === "done") return { went, faults: [], result: settled.value };
  if (settled.type === "failed" && settled.error instanceof AgentError && settled.error.kind === "nothing-to-resume")
    return { went: "was-complete", faults: [] };
  return { went, faults: [{ kind: "unfinished", text: unfinished(settled, journal) }] };
}

/** Decisions that were taken off the record before the crash are not given again. */
function stillToDecide({ decisions = [] }: CrashScenario, { metadata }: Session): CrashTurn {
  const waiting = JSON.stringify(metadata[SESSION_KEYS.deferred] ?? []);
  const left = decisions.filter(({ callId }) => waiting.includes(JSON.stringify(callId)));
  return { kind: "resume", ...(left.length === 0 ? {} : { decisions: left }) };
}

function turnOf({ input, decisions }: CrashScenario): CrashTurn {
  if (input !== undefined) return { kind: "run" };
  return { kind: "resume", ...(decisions === undefined ? {} : { decisions }) };
}

function wavesOf({ recovery }: CrashScenario): "in-order" | "as-they-end" {
  return recovery === "journal" ? "in-order" : "as-they-end";
}

function unfinished(settled: Settled<unknown>, journal: Journal): string {
  if (settled.type === "failed") return describeThrown(settled.error);
  const open = journal.steps.filter(({ state }) => state === "open").map(({ name }) => name);
  return open.length === 0 ? "it hangs between two steps" : `it hangs in step ${open.join(", ")}`;
}

/** What was done before the turn, in a life of its own; answers how many messages the session has. */
async function beforeTurn(scenario: CrashScenario, place: CrashPlace, witness: Witness): Promise<number> {
  const life = await Life.begin(scenario, place, witness, 0);
  await life.before();
  const { messages } = await life.stored();
  await life.end();
  return messages.length;
}

async function inPlace<T>(scenario: CrashScenario, work: (place: CrashPlace) => Promise<T>): Promise<T> {
  const place = await (scenario.place ?? memoryPlace)();
  try {
    return await work(place);
  } finally {
    await place[Symbol.asyncDispose]?.();
  }
}
