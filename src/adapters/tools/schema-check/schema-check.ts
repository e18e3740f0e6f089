import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../domain/json.js";
import { listOf, SchemaReading } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";
import { PatternTests } from "./pattern-tests.js";
import { numberFaults, stringFaults, typeFault } from "./scalar-faults.js";

const MAX_ISSUES = 16;

/** What of an object or array the schemas that hold have looked at: what `unevaluated…` leaves alone. */
type Seen = Set<string | number>;

/**
 * Everything that is wrong with a value, at most 16 issues; nothing when it fits. Interprets JSON Schema (2020-12, and what older drafts write
 * differently): no code is generated, references stay in the document, patterns run in linear time and are passed over where that cannot be
 * done, as formats are. A value or schema too large to be checked does not fit.
 */
export function schemaIssues(schema: JsonObject, value: Json): readonly ValidationIssue[] {
  const check = new Check(schema);
  const issues = check.issues(schema, value, "", 0, new Set());
  if (check.exhausted) return [{ path: "", expected: "a value that can be checked: it is too large or too deep" }];
  return issues.slice(0, MAX_ISSUES);
}

class Check {
  readonly #reading: SchemaReading;
  readonly #patterns = new PatternTests();
  #tooDeep = false;

  constructor(root: JsonObject) {
    this.#reading = new SchemaReading(root);
  }

  get exhausted(): boolean {
    return this.#tooDeep || this.#reading.exhausted || this.#patterns.exhausted;
  }

  issues(schema: unknown, value: Json, path: string, depth: number, seen: Seen): ValidationIssue[] {
    if (schema === false) return [{ path, expected: "nothing here" }];
    if (!isJsonObject(schema) || this.exhausted) return [];
    if (!this.#reading.enter(depth)) this.#tooDeep = true;
    if (this.exhausted) return [];
    const parts = this.#reading.conjuncts(schema);
    const issues: ValidationIssue[] = [];
    for (const part of parts) {
      issues.push(...this.#own(part, value, path));
      issues.push(...this.#combined(part, value, path, depth, seen));
      if (Array.isArray(value)) issues.push(...this.#items(part, value as readonly Json[], path, depth, seen));
      else if (isJsonObject(value)) issues.push(...this.#properties(part, value, path, depth, seen));
      if (issues.length >= MAX_ISSUES) return issues;
    }
    for (const part of parts) issues.push(...this.#unevaluated(part, value, path, depth, seen));
    return issues;
  }

  #fits(schema: unknown, value: Json, depth: number, seen: Seen = new Set()): boolean {
    const own: Seen = new Set();
    if (this.issues(schema, value, "", depth + 1, own).length > 0) return false;
    for (const key of own) seen.add(key);
    return true;
  }

  #own(schema: JsonObject, value: Json, path: string): ValidationIssue[] {
    const { type, enum: members, const: constant } = schema;
    const wrong = typeFault(type, value);
    if (wrong !== undefined) return [{ path, expected: wrong }];
    const issues: ValidationIssue[] = [];
    const say = (expected: string): void => void issues.push({ path, expected });
    if (Array.isArray(members) && !members.some((member: Json) => sameJson(member, value))) say(oneOf(members));
    if (constant !== undefined && !sameJson(constant, value)) say(oneOf([constant]));
    if (typeof value === "number") numberFaults(schema, value).forEach(say);
    if (typeof value === "string") {
      stringFaults(schema, value).forEach(say);
      const { pattern } = schema;
      if (typeof pattern === "string" && !this.#patterns.test(pattern, value)) say(`text like ${safeLabel(pattern)}`);
    }
    return issues;
  }

  #combined(schema: JsonObject, value: Json, path: string, depth: number, seen: Seen): ValidationIssue[] {
    const issues: ValidationIssue[] = [];
    // Its members that are objects are conjuncts of their own.
    if (listOf(schema["allOf"]).includes(false)) issues.push({ path, expected: "nothing here" });
    if (Array.isArray(schema["anyOf"])) {
      const branches = schema["anyOf"].map((branch: Json) => this.#branch(branch, value, path, depth, seen));
      if (!branches.some((found) => found.length === 0)) issues.push(...nearest(branches, path));
    }
    if (Array.isArray(schema["oneOf"])) {
      const branches = schema["oneOf"].map((branch: Json) => this.#branch(branch, value, path, depth, seen));
      const fitting = branches.filter((found) => found.length === 0).length;
      if (fitting === 0) issues.push(...nearest(branches, path));
      if (fitting > 1) issues.push({ path, expected: "a value that fits one of the schemas only" });
    }
    if (schema["not"] !== undefined && this.#fits(schema["not"], value, depth))
      issues.push({ path, expected: "a value that the schema does not rule out" });
    if (schema["if"] !== undefined) {
      const next = this.#fits(schema["if"], value, depth, seen) ? schema["then"] : schema["else"];
      if (next !== undefined) issues.push(...this.issues(next, value, path, depth + 1, seen));
    }
    return issues;
  }

  #branch(schema: Json, value: Json, path: string, depth: number, seen: Seen): readonly ValidationIssue[] {
    const own: Seen = new Set();
    const issues = this.issues(schema, value, path, depth + 1, own);
    if (issues.length === 0) for (const key of own) seen.add(key);
    return issues;
  }

  #items(schema: JsonObject, value: readonly Json[], path: string, depth: number, seen: Seen): ValidationIssue[] {
    const issues = sizeFaults(schema, value.length, "Items").map((expected) => ({ path, expected }));
    const { items, prefixItems, additionalItems, contains } = schema;
    // `items` as a list is how drafts before 2020-12 wrote tuples.
    const tuple = Array.isArray(items) ? items : listOf(prefixItems);
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [index, item] of value.entries()) {
      const part: unknown = index < tuple.length ? tuple[index] : rest;
      if (part === undefined) continue;
      seen.add(index);
      issues.push(...this.issues(part, item, `${path}/${index}`, depth + 1, new Set()));
      if (issues.length >= MAX_ISSUES) return issues;
    }
    if (schema["uniqueItems"] === true && !isUnique(value)) issues.push({ path, expected: "items that differ" });
    if (contains === undefined) return issues;
    const found = [...value.keys()].filter((index) => this.#fits(contains, value[index] as Json, depth));
    for (const index of found) seen.add(index);
    const { minContains = 1, maxContains } = schema;
    const wrong = found.length < Number(minContains) || (typeof maxContains === "number" && found.length > maxContains);
    if (wrong) issues.push({ path, expected: "another number of items of the wanted kind" });
    return issues;
  }

  #properties(schema: JsonObject, value: JsonObject, path: string, depth: number, seen: Seen): ValidationIssue[] {
    const keys = Object.keys(value);
    const issues = sizeFaults(schema, keys.length, "Properties").map((expected) => ({ path, expected }));
    for (const key of listOf(schema["required"])) {
      if (typeof key !== "string" || Object.hasOwn(value, key)) continue;
      issues.push({ path: pointer(path, key), expected: `required: ${typeName(schema, key)}` });
    }
    for (const key of keys) {
      for (const part of this.#schemasOf(schema, key)) {
        seen.add(key);
        issues.push(...this.issues(part, value[key] as Json, pointer(path, key), depth + 1, new Set()));
      }
      if (schema["propertyNames"] !== undefined && !this.#fits(schema["propertyNames"], key, depth))
        issues.push({ path: pointer(path, key), expected: "another name" });
      issues.push(...this.#dependent(schema, key, value, path, depth, seen));
      if (issues.length >= MAX_ISSUES) return issues;
    }
    return issues;
  }

  /** The schemas a property must fit: the declared one and those of patterns, else the one for all others. */
  #schemasOf(schema: JsonObject, key: string): readonly unknown[] {
    const { properties, patternProperties, additionalProperties } = schema;
    const found: unknown[] = [];
    if (isJsonObject(properties) && Object.hasOwn(properties, key)) found.push(properties[key]);
    let unsure = false;
    for (const [pattern, part] of isJsonObject(patternProperties) ? Object.entries(patternProperties) : []) {
      const matches = this.#patterns.matches(pattern, key);
      if (matches === true) found.push(part);
      unsure ||= matches === undefined;
    }
    if (found.length > 0 || unsure || additionalProperties === undefined) return found;
    return [additionalProperties];
  }

  #dependent(
    schema: JsonObject,
    key: string,
    value: JsonObject,
    path: string,
    depth: number,
    seen: Seen,
  ): ValidationIssue[] {
    const issues: ValidationIssue[] = [];
    for (const keyword of ["dependentRequired", "dependentSchemas", "dependencies"]) {
      const all = schema[keyword];
      const wanted = isJsonObject(all) && Object.hasOwn(all, key) ? all[key] : undefined;
      if (wanted === undefined) continue;
      if (!Array.isArray(wanted)) issues.push(...this.issues(wanted, value, path, depth + 1, seen));
      for (const other of listOf(wanted)) {
        if (typeof other !== "string" || Object.hasOwn(value, other)) continue;
        issues.push({ path: pointer(path, other), expected: `required with ${safeLabel(key)}` });
      }
    }
    return issues;
  }

  #unevaluated(schema: JsonObject, value: Json, path: string, depth: number, seen: Seen): ValidationIssue[] {
    const { unevaluatedProperties, unevaluatedItems } = schema;
    const rest = Array.isArray(value) ? unevaluatedItems : unevaluatedProperties;
    if (rest === undefined || typeof value !== "object" || value === null) return [];
    const issues: ValidationIssue[] = [];
    for (const [key, part] of Object.entries<Json>(value as JsonObject)) {
      const place = Array.isArray(value) ? Number(key) : key;
      if (seen.has(place)) continue;
      seen.add(place);
      issues.push(...this.issues(rest, part, pointer(path, key), depth + 1, new Set()));
    }
    return issues;
  }
}

function sizeFaults(schema: JsonObject, size: number, what: "Items" | "Properties"): string[] {
  const [min, max] = [schema[`min${what}`], schema[`max${what}`]];
  const faults: string[] = [];
  if (typeof min === "number" && size < min) faults.push(`at least ${min} ${what.toLowerCase()}`);
  if (typeof max === "number" && size > max) faults.push(`at most ${max} ${what.toLowerCase()}`);
  return faults;
}

/** What is wrong inside the branch that comes nearest; one issue for all where none is of the value's type. */
function nearest(branches: readonly (readonly ValidationIssue[])[], path: string): readonly ValidationIssue[] {
  const inside = branches.filter((issues) => issues.every((issue) => issue.path !== path));
  const [first] = inside.sort((a, b) => a.length - b.length);
  if (first !== undefined) return first;
  const words = [...new Set(branches.flatMap((issues) => issues.slice(0, 1).map(({ expected }) => expected)))];
  return [{ path, expected: words.length === 0 ? "another value" : words.slice(0, 8).join(" or ") }];
}

function oneOf(members: readonly Json[]): string {
  const words = members.slice(0, 12).map((member) => safeLabel(JSON.stringify(member)));
  return members.length > words.length ? `${words.join(" or ")} or others` : words.join(" or ");
}

function typeName(schema: JsonObject, key: string): string {
  const { properties } = schema;
  const part = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  const type = isJsonObject(part) ? part["type"] : undefined;
  return typeof type === "string" ? safeLabel(type) : "a value";
}

function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const MAX_COMPARED = 2_000;

/** Lists too long to be compared pairwise are compared by their texts. */
function isUnique(items: readonly Json[]): boolean {
  if (items.length > MAX_COMPARED) return new Set(items.map((item) => JSON.stringify(item))).size === items.length;
  const byText = new Set(items.map((item) => JSON.stringify(item)));
  if (byText.size < items.length) return false;
  const objects = items.filter((item) => typeof item === "object" && item !== null);
  return !objects.some((item, i) => objects.slice(i + 1).some((other) => sameJson(item, other)));
}
