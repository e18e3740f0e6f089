import { safeLabel } from "../../domain/safe-label.js";
import type { CrashFault } from "./crash-checks.js";
import type { CrashPoint } from "./journal-scope.js";

/** What became of one crash. `went`: how the turn was taken up again; `not-reached`: the turn did not come to the step this time. */
export type CrashOutcome = CrashPoint & {
  readonly went: "ran-again" | "resumed" | "replayed" | "was-complete" | "not-reached";
  readonly faults: readonly CrashFault[];
};

/** What crashes do to a turn. */
export type CrashReport = {
  /** The steps of the turn without a crash, in the order in which they began. */
  readonly steps: readonly string[];
  /** Two for each step, in the order of the steps: before its outcome was acknowledged, and after. */
  readonly outcomes: readonly CrashOutcome[];
  readonly faults: readonly (CrashPoint & CrashFault)[];
  /** A line that counts, then the faults by crash point, in words. */
  readonly text: string;
};

/** Puts the outcomes together. */
export function crashReport(steps: readonly string[], outcomes: readonly CrashOutcome[]): CrashReport {
  const faults = outcomes.flatMap(({ step, acknowledged, faults: own }) =>
    own.map((fault) => ({ step, acknowledged, ...fault })),
  );
  const count = faults.length === 0 ? "all is well" : `${faults.length} ${faults.length === 1 ? "fault" : "faults"}`;
  const head = `crash points: ${outcomes.length} over ${steps.length} steps, ${count}`;
  const text = [head, ...outcomes.filter((outcome) => outcome.faults.length > 0).flatMap(linesOf)].join("\n");
  return Object.freeze({ steps, outcomes, faults, text });
}

/** Where the world stopped, in words. */
export function crashLabel({ step, acknowledged }: CrashPoint): string {
  return `crash after step ${safeLabel(step)}, ${acknowledged ? "its outcome known" : "before anybody knew its outcome"}`;
}

const WENT: Readonly<Record<CrashOutcome["went"], string>> = {
  "ran-again": "then run again",
  resumed: "then resumed from the store",
  replayed: "then replayed",
  "was-complete": "then found complete",
  "not-reached": "which this run did not come to",
};

function linesOf(outcome: CrashOutcome): string[] {
  const head = `  ${crashLabel(outcome)}, ${WENT[outcome.went]}:`;
  return [head, ...outcome.faults.map(({ kind, text }) => `    ${kind}: ${text}`)];
}
