import { Ajv2020, type AnySchema, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import { adopt, copyJson } from "../../../domain/adopt.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel, safeLine } from "../../../domain/safe-label.js";
import type { Validation, ValidationIssue } from "../../../ports/tool-provider.js";
import type { OutputVerdict } from "../checked-output.js";
import { checkDocument } from "./check-document.js";
import { schemaIssues } from "./schema-issues.js";
import { type PatternEngine, patternEngine } from "./schema-pattern.js";
import { SchemaFault } from "./schema-document.js";

/** Whether text has a format. */
export type FormatCheck = RegExp | ((text: string) => boolean);

type ValidatorOptions = {
  readonly tool: string;
  readonly role: "inputSchema" | "outputSchema";
  readonly formats?: Readonly<Record<string, FormatCheck>> | undefined;
  readonly patterns?: "linear" | "native" | undefined;
};

/** Checks values against one JSON Schema document, which it compiled when it was made. */
export class SchemaValidator {
  /** Frozen; `$schema` is left out, since it says nothing to a model. */
  readonly schema: JsonObject;
  readonly #check: ValidateFunction;

  /** Throws `CompositionError("invalid-schema")` naming tool, role and place. */
  constructor(schema: JsonObject, options: ValidatorOptions) {
    const where = `the ${options.role} of ${safeLabel(options.tool)}`;
    try {
      const patterns = patternEngine(options.patterns ?? "linear");
      this.schema = documentOf(schema, options.role, patterns);
      this.#check = compiled(this.schema, patterns, options.formats);
    } catch (cause) {
      const what = cause instanceof SchemaFault ? cause.message : `cannot be used: ${thrownLabel(cause)}`;
      throw new CompositionError("invalid-schema", `${where} ${what}`, { cause });
    }
  }

  validateObject(args: JsonObject): Validation {
    const issues = this.#issues(args);
    return issues === undefined ? { ok: true, value: args } : { ok: false, issues };
  }

  validate(value: Json): OutputVerdict {
    const issues = this.#issues(value);
    return issues === undefined ? { ok: true, value } : { ok: false, issues };
  }

  #issues(value: Json): readonly ValidationIssue[] | undefined {
    try {
      if (this.#check(value)) return undefined;
      return schemaIssues(this.#check.errors ?? []);
    } catch (error) {
      // A pattern that needs too long for its text.
      if (error instanceof RangeError) return [{ path: "", expected: "text that its pattern can be tried on in time" }];
      throw error;
    }
  }
}

function documentOf(schema: JsonObject, role: ValidatorOptions["role"], patterns: PatternEngine): JsonObject {
  if (!isJsonObject(schema))
    throw new SchemaFault("", `is no object: ${safeLabel(JSON.stringify(schema) ?? typeof schema)}`);
  const document = adopt(schema, role);
  if (role === "inputSchema" && document["type"] !== "object") throw new SchemaFault("", 'has no type "object"');
  checkDocument(document, patterns);
  const { $schema: _dialect, ...rest } = document;
  return adopt(rest, role);
}

const SETTINGS: Options = { strict: false, allErrors: true, logger: false };

function compiled(
  schema: JsonObject,
  regExp: PatternEngine,
  formats: ValidatorOptions["formats"] = {},
): ValidateFunction {
  checkAgainstDialect(schema);
  const ajv = new Ajv2020({
    ...SETTINGS,
    // Checked just before, by one that serves all.
    meta: false,
    validateSchema: false,
    ownProperties: true,
    multipleOfPrecision: 9,
    formats: { ...formats },
    code: { regExp },
  });
  // The validator keeps what it is given and may mark it.
  return ajv.compile(copyJson(schema, "schema") as AnySchema);
}

let dialect: Ajv2020 | undefined;

/** Reading the dialect takes longer than all the rest, so it is done once, when the first tool is made. Nothing of any tool stays in it. */
function checkAgainstDialect(schema: JsonObject): void {
  dialect ??= new Ajv2020({ ...SETTINGS, allErrors: false });
  if (dialect.validateSchema(schema) === true) return;
  const [first] = dialect.errors ?? [];
  throw new SchemaFault(
    first?.instancePath ?? "",
    `is no JSON Schema: it ${safeLine(first?.message ?? "is none", 200)}`,
  );
}
