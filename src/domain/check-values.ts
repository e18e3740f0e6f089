import { CompositionError } from "./errors.js";
import { isJsonObject } from "./json.js";

/** What a value has to be, and the words for one that is not. */
export type Rule = { readonly passes: (value: unknown) => boolean; readonly fault: string };

export const TEXT: Rule = { passes: (value) => typeof value === "string", fault: "no text" };
export const NAME: Rule = {
  passes: (value) => typeof value === "string" && value !== "",
  fault: "no text of at least one character",
};
export const NAMES: Rule = {
  passes: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  fault: "no list of texts",
};
export const FUNCTION: Rule = { passes: (value) => typeof value === "function", fault: "no function" };
export const OBJECT: Rule = { passes: isJsonObject, fault: "no object" };
export const YES_OR_NO: Rule = { passes: (value) => typeof value === "boolean", fault: "neither true nor false" };

/** An object with all of these methods. */
export function having(...methods: readonly string[]): Rule {
  const has = (value: object, method: string): boolean => typeof Reflect.get(value, method) === "function";
  return {
    passes: (value) => typeof value === "object" && value !== null && methods.every((method) => has(value, method)),
    fault: `no object with ${methods.join(", ")}`,
  };
}

/** A safe integer of at least so much. */
export function wholeNumber(least: number): Rule {
  return {
    passes: (value) => Number.isSafeInteger(value) && (value as number) >= least,
    fault: `no whole number of at least ${least}`,
  };
}

/** Any number of at least so much, endless too. */
export function numberFrom(least: number): Rule {
  return { passes: (value) => typeof value === "number" && value >= least, fault: `no number of at least ${least}` };
}

/** Throws `CompositionError("invalid-config")` that names the first option which is set and breaks its rule. */
export function checkValues(what: string, options: object, rules: Readonly<Record<string, Rule>>): void {
  for (const [name, { passes, fault }] of Object.entries(rules)) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined && !passes(value)) {
      throw new CompositionError("invalid-config", `${what}: ${name} is ${fault}`);
    }
  }
}
