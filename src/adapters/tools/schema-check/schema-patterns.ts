import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { LinearPattern, type PatternBudget } from "../../../domain/linear-pattern.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { own, type PlacedSchema, SchemaFault } from "./schema-document.js";

/** A regular expression of a schema. Takes from the budget, and throws a RangeError when that is used up. */
export type SchemaPattern = { test(text: string, budget: PatternBudget): boolean };

/** How regular expressions are made of patterns. Throws a SyntaxError for what is none, a TypeError for what it cannot match. */
export type PatternEngine = (source: string) => SchemaPattern;

/** `"linear"` matches in time that grows with the text, and refuses look-around and back references; `"native"` is `RegExp`. */
export type PatternKind = "linear" | "native";

/** Throws `CompositionError("invalid-config")` for what is neither, in the options of `what`. */
export function checkPatternKind(what: string, patterns: unknown): asserts patterns is PatternKind {
  if (patterns === "linear" || patterns === "native") return;
  throw new CompositionError("invalid-config", `${what} has patterns that are neither "linear" nor "native"`);
}

/** Schemas mean patterns with the flag `u`, and many are written for none. */
const FLAGS = ["u", ""] as const;

/** Matches by code points where the pattern can be read so, else by UTF-16 units. */
export function patternEngine(kind: PatternKind): PatternEngine {
  return (source) => {
    const flags = FLAGS.find((one) => isExpression(source, one)) ?? "u";
    return kind === "native" ? new RegExp(source, flags) : new LinearPattern(source, flags);
  };
}

function isExpression(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Throws a `SchemaFault` naming the place for a pattern that the engine cannot match. */
export function checkPatterns({ schema, place }: PlacedSchema, engine: PatternEngine): void {
  const pattern = own(schema, "pattern");
  if (typeof pattern === "string") checkPattern(pattern, `${place}/pattern`, engine);
  const byPattern = own(schema, "patternProperties");
  if (!isJsonObject(byPattern)) return;
  for (const source of Object.keys(byPattern)) checkPattern(source, `${place}/patternProperties`, engine);
}

function checkPattern(source: string, place: string, engine: PatternEngine): void {
  try {
    engine(source);
  } catch (error) {
    const none = error instanceof SyntaxError ? "is no regular expression" : 'needs the option patterns: "native"';
    throw new SchemaFault(place, `has ${safeLabel(source)}, which ${none}`);
  }
}
