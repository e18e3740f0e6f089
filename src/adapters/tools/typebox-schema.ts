import { FormatRegistry, Kind, type TSchema, TypeRegistry } from "@sinclair/typebox";
import { CompositionError } from "../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import { JSON_TYPES } from "../../domain/json-schema.js";
import { safeLabel } from "../../domain/safe-label.js";
import { SchemaCheck } from "./schema-check/schema-check.js";
import { SchemaFault, schemasOf } from "./schema-check/schema-document.js";
import { checkPatterns, patternEngine, type PatternKind } from "./schema-check/schema-patterns.js";
import { checkReferences } from "./schema-check/schema-references.js";

type Role = "parameters" | "output";

/**
 * The check of a TypeBox schema: its keywords, the kinds of the `TypeRegistry`, and the formats of the `FormatRegistry`; a format that nobody
 * registered only tells the model. Throws `CompositionError("invalid-schema")` for anything that is no TypeBox schema, for parameters that are no
 * object, and for what JSON can never satisfy or nobody can check.
 */
export function typeboxCheck(schema: TSchema, tool: string, role: Role, patterns: PatternKind): SchemaCheck {
  const engine = patternEngine(patterns);
  try {
    if (!isTypebox(schema))
      throw new SchemaFault("", "is not made with Type; for raw JSON Schema there is ennead/tools/json-schema");
    if (role === "parameters" && schema["type"] !== "object") throw new SchemaFault("", 'has no type "object"');
    checkKinds(schema, "");
    const placed = schemasOf(schema);
    for (const one of placed) checkPatterns(one, engine);
    checkReferences(schema, placed);
  } catch (cause) {
    if (!(cause instanceof SchemaFault)) throw cause;
    const of = role === "parameters" ? "the parameters" : "the output schema";
    throw new CompositionError("invalid-schema", `${of} of ${safeLabel(tool)} ${cause.message}`, { cause });
  }
  return new SchemaCheck(schema, { ...OWN, patterns: engine });
}

/** An application trusts its own schemas; the arguments are a model's all the same. */
const OWN = { limits: { depth: 600, steps: 1_000_000 }, patternSteps: 10_000_000, maxPatterns: 10_000, more: unmet };

/** What a registered kind or format says of a value. */
function unmet(schema: JsonObject, value: Json): string | undefined {
  const kind = kindOf(schema);
  if (kind !== undefined && TypeRegistry.Get(kind)?.(schema, value) === false) return `a value of ${safeLabel(kind)}`;
  const { format } = schema;
  if (typeof format !== "string" || typeof value !== "string") return undefined;
  return FormatRegistry.Get(format)?.(value) === false ? `the format ${safeLabel(format)}` : undefined;
}

/** More steps in a place than a definition may have; one that holds itself has no last one. */
const MAX_STEPS = 256;
/** The kinds whose keywords say all there is to check. */
const KINDS: ReadonlySet<string> = new Set([
  ...["Any", "Array", "Boolean", "Import", "Integer", "Intersect", "Literal", "Never", "Not", "Null", "Number"],
  ...["Object", "Record", "Ref", "String", "TemplateLiteral", "This", "Tuple", "Union", "Unknown", "Unsafe"],
]);
/** Where keywords hold schemas: under names, in a list, or one. */
const NESTED = ["properties", "patternProperties", "$defs", "items", "anyOf", "allOf", "not", "contains"] as const;
const NESTED_OR_BOOLEAN = ["additionalProperties", "unevaluatedProperties"] as const;

function kindOf(schema: unknown): string | undefined {
  const kind = isJsonObject(schema) ? (schema as { readonly [Kind]?: unknown })[Kind] : undefined;
  return typeof kind === "string" ? kind : undefined;
}

function isTypebox(value: unknown): value is TSchema & JsonObject {
  return kindOf(value) !== undefined;
}

/** Throws a `SchemaFault` for a part that is not made with Type, or that JSON cannot hold. */
function checkKinds(schema: unknown, place: string): void {
  const kind = kindOf(schema);
  if (!isTypebox(schema) || kind === undefined) throw new SchemaFault(place, "is not made with Type");
  if (place.split("/").length > MAX_STEPS) throw new SchemaFault(place, "is nested too deep");
  if (kind === "Unsafe") return;
  const { type } = schema;
  if (kind === "RegExp")
    throw new SchemaFault(place, "is a Type.RegExp, which no model reads; Type.String({ pattern }) says the same");
  if (type !== undefined && !JSON_TYPES.has(type)) throw new SchemaFault(place, "asks for what JSON cannot hold");
  if (!KINDS.has(kind) && !TypeRegistry.Has(kind))
    throw new SchemaFault(place, `is of the kind ${safeLabel(kind)}, which is not in the TypeRegistry`);
  for (const key of NESTED) checkNested(schema[key], `${place}/${key}`);
  for (const key of NESTED_OR_BOOLEAN) if (typeof schema[key] === "object") checkKinds(schema[key], `${place}/${key}`);
}

function checkNested(part: unknown, place: string): void {
  if (part === undefined) return;
  if (isTypebox(part)) return checkKinds(part, place);
  if (typeof part !== "object" || part === null) throw new SchemaFault(place, "is not made with Type");
  for (const [key, one] of Object.entries<unknown>(part as Record<string, unknown>)) checkKinds(one, `${place}/${key}`);
}
