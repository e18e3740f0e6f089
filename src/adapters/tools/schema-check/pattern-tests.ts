import type { PatternBudget } from "../../../domain/linear-pattern.js";
import type { PatternEngine, SchemaPattern } from "./schema-patterns.js";

/** The patterns of one schema document, each made once. */
export class PatternSet {
  readonly #engine: PatternEngine;
  readonly #most: number;
  readonly #made = new Map<string, SchemaPattern | undefined>();

  constructor(engine: PatternEngine, most: number) {
    this.#engine = engine;
    this.#most = most;
  }

  /** Nothing for one the engine cannot match, and beyond the most there may be. */
  of(source: string): SchemaPattern | undefined {
    if (!this.#made.has(source)) this.#made.set(source, this.#make(source));
    return this.#made.get(source);
  }

  #make(source: string): SchemaPattern | undefined {
    if (this.#made.size >= this.#most) return undefined;
    try {
      return this.#engine(source);
    } catch {
      return undefined;
    }
  }
}

/** Tries patterns within one budget. One that cannot be matched is not matched at all. */
export class PatternTests {
  readonly #patterns: PatternSet;
  readonly #budget: PatternBudget;
  /** What does not fit is asked twice, the second time for words. */
  readonly #known = new Map<string, Map<string, boolean>>();
  exhausted = false;

  constructor(patterns: PatternSet, steps: number) {
    this.#patterns = patterns;
    this.#budget = { left: steps };
  }

  /** True also where nobody can tell. */
  test(source: string, text: string): boolean {
    return this.matches(source, text) ?? true;
  }

  /** Nothing where nobody can tell. */
  matches(source: string, text: string): boolean | undefined {
    const pattern = this.#patterns.of(source);
    if (pattern === undefined) return undefined;
    const known = this.#known.get(source) ?? new Map<string, boolean>();
    this.#known.set(source, known);
    const before = known.get(text);
    if (before !== undefined || this.exhausted) return before;
    try {
      const matches = pattern.test(text, this.#budget);
      known.set(text, matches);
      return matches;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.exhausted = true;
      return undefined;
    }
  }
}
