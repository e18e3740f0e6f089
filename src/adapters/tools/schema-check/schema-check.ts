import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { type ReadingLimits, SchemaReading } from "../../../domain/json-schema.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";
import { combinationRules } from "./combination-rules.js";
import { itemRules } from "./item-rules.js";
import { PatternSet, PatternTests } from "./pattern-tests.js";
import { propertyRules } from "./property-rules.js";
import { patternEngine, type PatternEngine } from "./schema-patterns.js";
import { valueRules } from "./value-rules.js";
import { type Check, type Seen, Visit } from "./visit.js";

const MAX_ISSUES = 16;
/** Parts that do not fit whose faults are looked for. */
const MAX_WORDED = 2_000;
const TOO_MUCH: readonly ValidationIssue[] = Object.freeze([
  { path: "", expected: "a value that can be checked: it is too large or too deep" },
]);
const NOTHING_SEEN: Seen = new Set();

/** How a schema is read beyond its keywords, and how much work one check may take. */
export type SchemaCheckOptions = {
  readonly limits: ReadingLimits;
  /** Steps all patterns of one check may take together. */
  readonly patternSteps: number;
  readonly maxPatterns: number;
  readonly patterns: PatternEngine;
  readonly more: Check["more"];
};

const FOREIGN: SchemaCheckOptions = {
  limits: { depth: 64, steps: 250_000 },
  patternSteps: 5_000_000,
  maxPatterns: 200,
  patterns: patternEngine("linear"),
  more: () => undefined,
};

/**
 * Checks values against one schema document, which must not change. Interprets JSON Schema (2020-12, and what older drafts write differently): no code
 * is generated, references stay in the document, and the work is bounded: what would take more does not fit.
 */
export class SchemaCheck {
  readonly #schema: JsonObject;
  readonly #options: SchemaCheckOptions;
  readonly #patterns: PatternSet;

  constructor(schema: JsonObject, options: SchemaCheckOptions) {
    this.#schema = schema;
    this.#options = options;
    this.#patterns = new PatternSet(options.patterns, options.maxPatterns);
  }

  /** Everything that is wrong with a value, at most 16 issues that quote no part of it; nothing when it fits. */
  issues(value: Json): readonly ValidationIssue[] {
    const run = new Run(this.#schema, this.#options, this.#patterns);
    const fits = run.fits(this.#schema, value, 0);
    if (run.exhausted) return TOO_MUCH;
    if (fits) return [];
    const issues = run.issues(this.#schema, value, { path: "", depth: 0 });
    return issues.length > 0 ? issues : TOO_MUCH;
  }
}

const foreign = new WeakMap<JsonObject, SchemaCheck>();

/** The same for a schema that somebody else wrote, and whose patterns and formats are passed over where they cannot be checked. */
export function schemaIssues(schema: JsonObject, value: Json): readonly ValidationIssue[] {
  let check = foreign.get(schema);
  if (check === undefined) foreign.set(schema, (check = new SchemaCheck(schema, FOREIGN)));
  return check.issues(value);
}

/** One check of one value. First asks whether it fits at all, and remembers that of each part; only what does not fit is looked at again for words. */
class Run implements Check {
  readonly reading: SchemaReading;
  readonly patterns: PatternTests;
  readonly more: Check["more"];
  readonly #known = new Map<object, Map<JsonObject, Seen | false>>();
  #tooDeep = false;
  #worded = 0;

  constructor(root: JsonObject, { limits, patternSteps, more }: SchemaCheckOptions, patterns: PatternSet) {
    this.reading = new SchemaReading(root, limits);
    this.patterns = new PatternTests(patterns, patternSteps);
    this.more = more;
  }

  /** True when the check was cut short, so that what it says of the value does not count. */
  get exhausted(): boolean {
    return this.#tooDeep || this.reading.exhausted || this.patterns.exhausted;
  }

  fits(schema: unknown, value: Json, depth: number, seen?: Seen): boolean {
    if (schema === false) return false;
    if (!isJsonObject(schema)) return true;
    const looked = this.#verdict(schema, value, depth);
    if (looked === false) return false;
    if (seen !== undefined) for (const key of looked) seen.add(key);
    return true;
  }

  issues(schema: unknown, value: Json, place: { readonly path: string; readonly depth: number }): ValidationIssue[] {
    if (schema === false) return [{ path: place.path, expected: "nothing here" }];
    if (!isJsonObject(schema)) return [];
    this.#worded += 1;
    if (this.#worded > MAX_WORDED) return [{ path: place.path, expected: "another value" }];
    const visit = new Visit(value, place, { most: MAX_ISSUES, seen: this.#fresh() });
    this.#apply(schema, visit);
    const unsaid = visit.found.length === 0 && !this.fits(schema, value, place.depth);
    return unsaid ? [{ path: place.path, expected: "another value" }] : visit.found;
  }

  /** What of the value was looked at, or false. Asked once for each schema and object, however many ways lead there. */
  #verdict(schema: JsonObject, value: Json, depth: number): Seen | false {
    const known = typeof value === "object" && value !== null ? this.#knownOf(value) : undefined;
    const before = known?.get(schema);
    if (before !== undefined) return before;
    const visit = new Visit(value, { path: "", depth }, { most: 1, seen: this.#fresh() });
    this.#apply(schema, visit);
    const verdict = visit.found.length === 0 && (visit.seen ?? NOTHING_SEEN);
    known?.set(schema, verdict);
    return verdict;
  }

  #knownOf(value: object): Map<JsonObject, Seen | false> {
    const known = this.#known.get(value) ?? new Map<JsonObject, Seen | false>();
    this.#known.set(value, known);
    return known;
  }

  #fresh(): Seen | undefined {
    return this.reading.hasUnevaluated ? new Set() : undefined;
  }

  #apply(schema: JsonObject, visit: Visit): void {
    if (this.exhausted) return;
    if (!this.reading.enter(visit.depth)) return void (this.#tooDeep = true);
    const parts = this.reading.conjuncts(schema);
    for (const part of parts) {
      valueRules(part, visit, this);
      combinationRules(part, visit, this);
      if (Array.isArray(visit.value)) itemRules(part, visit, this);
      else if (isJsonObject(visit.value)) propertyRules(part, visit, this);
      if (visit.isFull) return;
    }
    if (visit.seen !== undefined) for (const part of parts) this.#unevaluated(part, visit, visit.seen);
  }

  #unevaluated({ unevaluatedProperties, unevaluatedItems }: JsonObject, visit: Visit, seen: Seen): void {
    const { value } = visit;
    const rest = Array.isArray(value) ? unevaluatedItems : unevaluatedProperties;
    if (rest === undefined || typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries<Json>(value as JsonObject)) {
      const place = Array.isArray(value) ? Number(key) : key;
      if (seen.has(place)) continue;
      seen.add(place);
      visit.inside(this, rest, place, part);
    }
  }
}
