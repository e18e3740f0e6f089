import { Defect } from "../../domain/errors.js";
import { isJsonObject, type Json } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Outcome } from "../../ports/step-scope.js";
import { textOfValue, valueOfText } from "../error-json.js";

/** A step that began; `open` as long as no outcome of it is recorded. `attempts` counts how often its effect was begun. */
export type JournalStep = {
  readonly name: string;
  readonly state: "open" | "ok" | "failed";
  readonly attempts: number;
};

type Entry = { readonly name: string; attempts: number; outcome: string | undefined };

/**
 * The record of one turn's steps, in the order in which they began: what survives of it is all a worker that died leaves behind. Outcomes are
 * kept as JSON text, so that one which no engine could store is found here; typed errors come back as what they were.
 */
export class Journal {
  readonly #entries: Entry[] = [];
  readonly #byName = new Map<string, Entry>();

  /** A journal as `toJSON` told it. Throws a `Defect` for anything else. */
  static fromJson(json: Json): Journal {
    const journal = new Journal();
    if (!Array.isArray(json)) throw new Defect("this is no journal");
    (json as readonly Json[]).forEach((step, index) => {
      if (!isJsonObject(step) || typeof step["name"] !== "string")
        throw new Defect(`step ${index} of the journal has no name`);
      const { name, attempts, outcome } = step;
      journal.#add({
        name,
        attempts: typeof attempts === "number" ? attempts : 0,
        outcome: typeof outcome === "string" ? outcome : undefined,
      });
    });
    return journal;
  }

  /** In the order in which they began; a snapshot at each read. */
  get steps(): readonly JournalStep[] {
    return this.#entries.map(({ name, outcome, attempts }) => ({ name, attempts, state: stateOf(outcome) }));
  }

  /** Whether the outcome of a step is recorded. */
  has(name: string): boolean {
    return this.#byName.get(name)?.outcome !== undefined;
  }

  toJSON(): Json {
    return this.#entries.map(({ name, attempts, outcome }) => ({
      name,
      attempts,
      ...(outcome === undefined ? undefined : { outcome }),
    }));
  }

  /**
   * Notes that the step at this place in the order of a run begins, and answers its recorded outcome, if there is one. Throws a `Defect` where the
   * run before did something else at this place: then the code between the steps is not deterministic.
   */
  begin(place: number, name: string): Outcome<unknown> | undefined {
    const before = this.#entries[place];
    if (before === undefined && this.#byName.has(name)) throw new Defect(`step name used twice: ${safeLabel(name)}`);
    if (before !== undefined && before.name !== name)
      throw new Defect(
        `the turn is not deterministic: step ${place} is ${safeLabel(name)}, and was ${safeLabel(before.name)} in the run that is replayed`,
      );
    const outcome = (before ?? this.#add({ name, attempts: 0, outcome: undefined })).outcome;
    return outcome === undefined ? undefined : (valueOfText(outcome) as Outcome<unknown>);
  }

  /** Notes that the effect of a step is begun; answers how often it was before. */
  attempt(name: string): number {
    const entry = this.#byName.get(name);
    if (entry === undefined) throw new Defect(`step ${safeLabel(name)} never began`);
    entry.attempts += 1;
    return entry.attempts - 1;
  }

  /** Records how a step ended, and answers that as a replay will. Throws a `Defect` naming the step and the field that JSON cannot hold. */
  record(name: string, outcome: Outcome<unknown>): Outcome<unknown> {
    const entry = this.#byName.get(name);
    if (entry === undefined) throw new Defect(`step ${safeLabel(name)} never began`);
    try {
      entry.outcome = textOfValue(outcome, `step ${safeLabel(name)}`);
    } catch (error) {
      throw new Defect(error instanceof TypeError ? error.message : "not JSON", { cause: error });
    }
    return valueOfText(entry.outcome) as Outcome<unknown>;
  }

  #add(entry: Entry): Entry {
    this.#entries.push(entry);
    this.#byName.set(entry.name, entry);
    return entry;
  }
}

function stateOf(outcome: string | undefined): JournalStep["state"] {
  if (outcome === undefined) return "open";
  return (valueOfText(outcome) as Outcome<unknown>).ok ? "ok" : "failed";
}
