import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { adopt } from "../../../domain/adopt.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel, safeLine } from "../../../domain/safe-label.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";
import { SchemaFault } from "../schema-check/schema-document.js";
import { type PatternEngine, patternEngine, type PatternKind } from "../schema-check/schema-patterns.js";
import { type BoundedOptions, boundedValidator, Work } from "./bounded-ajv.js";
import { checkDocument } from "./check-document.js";
import { type FormatCheck, formatChecks } from "./format-checks.js";
import { schemaIssues } from "./schema-issues.js";

type ValidatorOptions = {
  readonly tool: string;
  readonly role: "inputSchema" | "outputSchema";
  readonly formats?: Readonly<Record<string, FormatCheck>> | undefined;
  readonly patterns?: PatternKind | undefined;
};

/** Schemas asked of a value and its parts, for a yes or no, and for all that is wrong. */
const STEPS = 1_000_000;
const STEPS_FOR_WORDS = 200_000;
/** Steps of all patterns together; done in a second. */
const PATTERN_STEPS = 10_000_000;

/** Checks values against one JSON Schema document, in bounded time. */
export class SchemaValidator {
  /** Frozen; `$schema` is left out, since it says nothing to a model. */
  readonly schema: JsonObject;
  readonly #options: Omit<BoundedOptions, "allErrors">;
  /** Stops at the first fault. */
  readonly #first: ValidateFunction;
  /** Made when something does not fit for the first time. */
  #all: ValidateFunction | undefined;

  /** Throws `CompositionError("invalid-schema")` naming tool, role and place. */
  constructor(schema: JsonObject, options: ValidatorOptions) {
    const where = `the ${options.role} of ${safeLabel(options.tool)}`;
    const patterns = patternEngine(options.patterns ?? "linear");
    this.#options = { work: new Work(), patterns, formats: formatChecks(options.formats) };
    try {
      this.schema = documentOf(schema, options.role, patterns);
      checkAgainstDialect(this.schema);
      this.#first = boundedValidator(this.schema, { ...this.#options, allErrors: false });
    } catch (cause) {
      const what = cause instanceof SchemaFault ? cause.message : `cannot be used: ${thrownLabel(cause)}`;
      throw new CompositionError("invalid-schema", `${where} ${what}`, { cause });
    }
  }

  /** What is wrong with a value; nothing when it fits. */
  issues(value: Json): readonly ValidationIssue[] {
    const fits = this.#asked(this.#first, value, STEPS);
    if (fits === true) return [];
    if (fits === "too much") return [{ path: "", expected: this.#options.work.isOver ? SMALLER : IN_TIME }];
    const errors = this.#first.errors ?? [];
    this.#all ??= boundedValidator(this.schema, { ...this.#options, allErrors: true });
    const told = this.#asked(this.#all, value, STEPS_FOR_WORDS) === false ? this.#all.errors : undefined;
    return schemaIssues(told ?? errors);
  }

  #asked(validator: ValidateFunction, value: Json, steps: number): boolean | "too much" {
    this.#options.work.begin(steps, PATTERN_STEPS);
    try {
      return validator(value);
    } catch (error) {
      if (error instanceof RangeError) return "too much";
      throw error;
    }
  }
}

const SMALLER = "a value that can be checked: it is too large or too deep";
const IN_TIME = "text that its pattern can be tried on in time";

function documentOf(schema: JsonObject, role: ValidatorOptions["role"], patterns: PatternEngine): JsonObject {
  if (!isJsonObject(schema))
    throw new SchemaFault("", `is no object: ${safeLabel(JSON.stringify(schema) ?? typeof schema)}`);
  const document = adopt(schema, role);
  if (role === "inputSchema" && document["type"] !== "object") throw new SchemaFault("", 'has no type "object"');
  checkDocument(document, patterns);
  const { $schema: _dialect, ...rest } = document;
  return adopt(rest, role);
}

let dialect: Ajv2020 | undefined;

/** Reading the dialect takes longer than all the rest, so it is done once, when the first tool is made. Nothing of any tool stays in it. */
function checkAgainstDialect(schema: JsonObject): void {
  dialect ??= new Ajv2020({ strict: false, logger: false });
  if (dialect.validateSchema(schema) === true) return;
  const [first] = dialect.errors ?? [];
  throw new SchemaFault(
    first?.instancePath ?? "",
    `is no JSON Schema: it ${safeLine(first?.message ?? "is none", 200)}`,
  );
}
