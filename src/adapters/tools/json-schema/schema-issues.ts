import { escapePointer } from "../../../domain/json-schema.js";
import { safeLine } from "../../../domain/safe-label.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";

const MAX_ISSUES = 16;
const MAX_TEXT = 300;

/** One fault as the validator tells it. */
export type SchemaError = {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
};

/** What is wrong, one issue a place, at most 16. Quotes the schema, never a value. */
export function schemaIssues(errors: readonly SchemaError[]): readonly ValidationIssue[] {
  const byPath = new Map<string, Set<string>>();
  for (const error of errors) {
    const path = pathOf(error);
    const expected = expectedOf(error);
    // The branches have said what would do.
    if (expected === undefined) continue;
    const told = byPath.get(path);
    if (told !== undefined) told.add(expected);
    else if (byPath.size < MAX_ISSUES) byPath.set(path, new Set([expected]));
  }
  if (byPath.size === 0) byPath.set(errors[0]?.instancePath ?? "", new Set(["another value"]));
  return [...byPath].map(([path, told]) => ({ path, expected: safeLine([...told].join(" or "), MAX_TEXT) }));
}

function pathOf({ instancePath, params }: SchemaError): string {
  const { missingProperty, additionalProperty, unevaluatedProperty, propertyName } = params;
  const key = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? propertyName;
  return typeof key === "string" ? `${instancePath}/${escapePointer(key)}` : instancePath;
}

function expectedOf({ keyword, params, message }: SchemaError): string | undefined {
  switch (keyword) {
    case "anyOf":
    case "oneOf":
    case "if":
      return params["passingSchemas"] === null || params["passingSchemas"] === undefined
        ? undefined
        : "only one of the allowed forms";
    case "required":
    case "dependentRequired":
      return "required";
    case "additionalProperties":
    case "unevaluatedProperties":
    case "false schema":
      return "nothing: there is no such property";
    case "type":
      return [params["type"]].flat().join(" or ");
    case "enum":
      return Array.isArray(params["allowedValues"])
        ? params["allowedValues"].map((one) => JSON.stringify(one)).join(" or ")
        : message;
    case "const":
      return JSON.stringify(params["allowedValue"]);
    case "format":
      return `the format ${String(params["format"])}`;
    default:
      return (message ?? keyword).replace(/^must be /, "").replace(/^must /, "to ");
  }
}
