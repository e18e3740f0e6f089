import type { Json } from "../../domain/json.js";
import { jsonDifference } from "../json-difference.js";
import { ReplayDrift } from "./recording-error.js";
import type { NumberedLine } from "./recording-file.js";
import type { RecordedModelLine, RecordedToolLine } from "./recording-line.js";
import { SECRET } from "./scrubber.js";

/** A recorded call and the number of its line. */
export type Taken<L> = { readonly line: L; readonly number: number };

type Entry<L> = Taken<L> & { used: boolean };

/** Recorded calls of one kind; each answers once. */
export class RecordedCalls<L extends RecordedModelLine | RecordedToolLine> {
  readonly #entries: readonly Entry<L>[];
  readonly #label: (line: L) => string;
  readonly #onUse: () => void;

  /** `label` names a call for people, in text that is safe to print; `onUse` is told of each call that is answered. */
  constructor(
    lines: readonly (NumberedLine & { readonly line: L })[],
    label: (line: L) => string,
    onUse: () => void = () => undefined,
  ) {
    this.#entries = lines.map(({ line, number }) => ({ line, number, used: false }));
    this.#label = label;
    this.#onUse = onUse;
  }

  /** What was not asked for, in the order of the file. */
  get unused(): readonly string[] {
    return this.#entries
      .filter(({ used }) => !used)
      .sort((a, b) => a.number - b.number)
      .map((entry) => this.#name(entry));
  }

  /** The line of the first call that was not asked for; infinite where none is left. */
  get next(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#entries.filter(({ used }) => !used).map(({ number }) => number));
  }

  /** Whether one that may answer is left. */
  has(may: (line: L) => boolean): boolean {
    return this.#entries.some(({ used, line }) => !used && may(line));
  }

  /**
   * The first recorded call of those that `may` answer that asks for the same. Throws a `ReplayDrift`: where none does, with the difference from the
   * first of them; where none is left, with what was asked.
   */
  take(asked: string, same: (line: L) => string | undefined, may: (line: L) => boolean = () => true): Taken<L> {
    const left = this.#entries.filter(({ used, line }) => !used && may(line));
    const fitting = left.find(({ line }) => same(line) === undefined);
    if (fitting !== undefined) {
      fitting.used = true;
      this.#onUse();
      return fitting;
    }
    const [nearest] = left;
    if (nearest === undefined) {
      const used = this.#entries.filter((entry) => entry.used && may(entry.line)).length;
      throw new ReplayDrift(`replay_exhausted: ${asked} was not recorded (${used} such calls were, and are used up)`);
    }
    throw new ReplayDrift(
      [`replay_drift: ${asked} is not what was recorded as ${this.#name(nearest)}:`, `  ${same(nearest.line)}`].join(
        "\n",
      ),
    );
  }

  #name({ line, number }: Entry<L>): string {
    return `${this.#label(line)} (line ${number})`;
  }
}

/** Where what is asked differs from what was recorded; what stands in for a secret stands for any text. */
export function recordedDifference(recorded: Json, asked: Json): string | undefined {
  return jsonDifference(recorded, masked(recorded, asked));
}

function masked(recorded: unknown, asked: unknown): unknown {
  if (typeof recorded === "string" && typeof asked === "string") return fits(recorded, asked) ? recorded : asked;
  if (Array.isArray(recorded) && Array.isArray(asked)) return asked.map((item, index) => masked(recorded[index], item));
  if (!isObject(recorded) || !isObject(asked) || Array.isArray(asked)) return asked;
  return Object.fromEntries(Object.entries(asked).map(([key, value]) => [key, masked(recorded[key], value)]));
}

function fits(recorded: string, asked: string): boolean {
  const [first = "", ...rest] = recorded.split(SECRET);
  const last = rest.pop();
  if (last === undefined || !asked.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = asked.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return asked.length - last.length >= at && asked.endsWith(last);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
