import { LinearPattern } from "../../../domain/linear-pattern.js";

/** A regular expression of a schema. */
export type SchemaPattern = { test(text: string): boolean; toString(): string };

/** How the validator makes regular expressions of patterns. */
export type PatternEngine = { (source: string, flags: string): SchemaPattern; readonly code: string };

/** Matches in time that grows with the text (`"linear"`), or as `RegExp` does. Making one throws a SyntaxError for what is none, a TypeError for what cannot be linear. */
export function patternEngine(kind: "linear" | "native"): PatternEngine {
  const engine = (source: string, flags: string): SchemaPattern => {
    const pattern = kind === "native" ? new RegExp(source, flags) : new LinearPattern(source, flags);
    // The validator tells patterns apart by their text.
    return { test: (text) => pattern.test(text), toString: () => `/${source}/${flags}` };
  };
  return Object.assign(engine, { code: "new RegExp" });
}
