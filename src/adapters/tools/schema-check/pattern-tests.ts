import { LinearPattern, type PatternBudget } from "../../../domain/linear-pattern.js";

/** Steps all patterns of one check may take together. */
const STEPS = 5_000_000;
const MAX_PATTERNS = 200;

/** Patterns of a foreign schema, in linear time and within one budget. One that cannot be matched so is not matched at all. */
export class PatternTests {
  readonly #compiled = new Map<string, LinearPattern | undefined>();
  readonly #budget: PatternBudget = { left: STEPS };
  exhausted = false;

  /** True also where nobody can tell. */
  test(source: string, text: string): boolean {
    return this.matches(source, text) ?? true;
  }

  /** Nothing where nobody can tell. */
  matches(source: string, text: string): boolean | undefined {
    const pattern = this.#patternOf(source);
    if (pattern === undefined || this.exhausted) return undefined;
    try {
      return pattern.test(text, this.#budget);
    } catch {
      this.exhausted = true;
      return undefined;
    }
  }

  #patternOf(source: string): LinearPattern | undefined {
    if (!this.#compiled.has(source))
      this.#compiled.set(source, this.#compiled.size < MAX_PATTERNS ? compiled(source) : undefined);
    return this.#compiled.get(source);
  }
}

/** Schemas mean patterns with the flag `u`, and many are written for none. */
function compiled(source: string): LinearPattern | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new LinearPattern(source, flags);
    } catch {
      // The next flags, or nothing.
    }
  }
  return undefined;
}
