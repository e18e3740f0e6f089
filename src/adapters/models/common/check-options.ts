import { CompositionError } from "../../../domain/errors.js";
import { checkFields } from "../../../domain/known-fields.js";

/**
 * Throws `CompositionError("invalid-config")` for an unknown option, for one of `numbers` that is no number or below its least value, and
 * for one of `words` that is none of its values. An option that is undefined is none.
 */
export function checkOptions(
  what: string,
  options: object,
  known: readonly string[],
  numbers: Readonly<Record<string, number>>,
  words: Readonly<Record<string, readonly unknown[]>> = {},
): void {
  checkFields(what, options, known);
  const check = (name: string, passes: (value: unknown) => boolean, wanted: string): void => {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined || passes(value)) return;
    throw new CompositionError("invalid-config", `${what}: ${name} is ${wanted}`);
  };
  for (const [name, least] of Object.entries(numbers)) {
    check(name, (value) => typeof value === "number" && value >= least, `no number from ${least} on`);
  }
  for (const [name, values] of Object.entries(words)) {
    check(name, (value) => values.includes(value), `none of ${values.join(", ")}`);
  }
}
