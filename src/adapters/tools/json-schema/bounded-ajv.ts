import { _, Ajv2020, type AnySchema, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import { copyJson } from "../../../domain/adopt.js";
import { type Json, type JsonObject, sameJson } from "../../../domain/json.js";
import type { PatternBudget } from "../../../domain/linear-pattern.js";
import { areDistinct } from "../schema-check/distinct.js";
import type { PatternEngine } from "../schema-check/schema-patterns.js";
import { schemasOf } from "../schema-check/schema-document.js";

/** What one check may still do. */
export class Work {
  #left = 0;
  #patterns: PatternBudget = { left: 0 };

  begin(steps: number, patternSteps: number): void {
    this.#left = steps;
    this.#patterns = { left: patternSteps };
  }

  /** True when it was all done before the check was through. */
  get isOver(): boolean {
    return this.#left < 0;
  }

  get patterns(): PatternBudget {
    return this.#patterns;
  }

  /** Throws a RangeError when there is no more. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new RangeError("the value is too large to be checked");
  }
}

/** How schemas are compiled. */
export type BoundedOptions = {
  readonly work: Work;
  readonly patterns: PatternEngine;
  readonly formats: Options["formats"];
  readonly allErrors: boolean;
};

/** Each schema has this beside its own keywords, so that each time it is asked counts. */
const STEP = "ennead-step";

/**
 * A validator whose work is counted: nested unions take time that doubles with each level, and Ajv compares the items of a list, and the
 * values of an enumeration, each with each, asking the value for methods of its own. The schema is copied. The validator throws a RangeError when the work is over.
 */
export function boundedValidator(schema: JsonObject, options: BoundedOptions): ValidateFunction {
  const { work, patterns, formats, allErrors } = options;
  const regExp = (source: string): { test(text: string): boolean; toString(): string } => {
    const pattern = patterns(source);
    // The validator tells patterns apart by their text.
    return { test: (text) => pattern.test(text, work.patterns), toString: () => source };
  };
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    allErrors,
    // Checked just before, by one that serves all.
    meta: false,
    validateSchema: false,
    ownProperties: true,
    multipleOfPrecision: 9,
    formats: { ...formats },
    code: { regExp: Object.assign(regExp, { code: "new RegExp" }) },
  });
  addCountingKeywords(ajv, work);
  return ajv.compile(counted(schema) as AnySchema);
}

/** With names that stand once, as they do here, a dynamic reference is a plain one; Ajv finds only what it came by on its way. */
function counted(schema: JsonObject): JsonObject {
  const copy = copyJson(schema, "schema") as JsonObject;
  for (const { schema: part } of schemasOf(copy)) {
    const { $dynamicRef, allOf = [] } = part;
    Object.assign(part, { [STEP]: true });
    if (typeof $dynamicRef !== "string") continue;
    Reflect.deleteProperty(part, "$dynamicRef");
    Object.assign(part, { allOf: [...(allOf as readonly Json[]), { $ref: $dynamicRef, [STEP]: true }] });
  }
  return copy;
}

function addCountingKeywords(ajv: Ajv2020, work: Work): void {
  ajv.addKeyword({
    keyword: STEP,
    schema: false,
    before: "$ref",
    errors: false,
    validate: () => {
      work.spend(1);
      return true;
    },
  });
  ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must NOT have duplicate items" },
    compile: (asked: boolean) => (items: readonly Json[]) => !asked || areDistinct(items, (steps) => work.spend(steps)),
  });
  ajv.removeKeyword("enum").addKeyword({
    keyword: "enum",
    schemaType: "array",
    error: { message: "must be one of the values", params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}` },
    compile: (members: readonly Json[]) => isAmong(members, work),
  });
  ajv.removeKeyword("const").addKeyword({
    keyword: "const",
    error: { message: "must be equal to constant", params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}` },
    compile: (member: Json) => isAmong([member], work),
  });
}

function isAmong(members: readonly Json[], work: Work): (value: Json) => boolean {
  const plain = new Set(members);
  const parts = members.filter((member) => typeof member === "object" && member !== null);
  return (value) => {
    if (typeof value !== "object" || value === null) return plain.has(value);
    work.spend(parts.length);
    return parts.some((part) => sameJson(part, value));
  };
}
