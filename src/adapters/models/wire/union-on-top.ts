import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../domain/json.js";
import { referredTo } from "../../../domain/json-schema.js";

/**
 * The schema of an object without `oneOf`, `anyOf`, `allOf`, `not` and `enum` on top, which providers refuse there: the properties of
 * all alternatives are offered together, each with all it may be in one of them, and those stay required that every alternative
 * requires. It allows more than the tool does; whoever validates has the whole.
 */
export function withoutUnionOnTop(schema: JsonObject, root = schema, depth = 0): JsonObject {
  if (!REFUSED.some((key) => Object.hasOwn(schema, key))) return schema;
  const { oneOf, anyOf, allOf, not: _not, enum: _enum, ...rest } = schema;
  const flat = (list: Json | undefined): readonly JsonObject[] =>
    depth > DEEPEST
      ? []
      : objects(list).map((branch) => withoutUnionOnTop(withoutReference(branch, root), root, depth + 1));
  const every = flat(allOf);
  const unions = [flat(oneOf), flat(anyOf)];
  const properties = [...unions.map(eitherOf), ...every.map(propertiesOf), propertiesOf(rest)];
  const required = [rest, ...every].map(requiredOf).concat(unions.map((branches) => common(branches.map(requiredOf))));
  const demanded = [...new Set(required.flat())];
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...properties) as JsonObject,
    ...(demanded.length === 0 ? undefined : { required: demanded }),
  };
}

/**
 * What a schema refers to in its document, in its place and together with what stands beside the reference: providers look for the
 * properties of an object where it begins. Left as it is where the reference leads nowhere, or round in a circle.
 */
export function withoutReference(schema: JsonObject, root: JsonObject): JsonObject {
  let whole = schema;
  for (let step = 0; step < LONGEST_CHAIN; step++) {
    const { $ref, ...beside } = whole;
    if (typeof $ref !== "string") return whole;
    const target = referredTo(root, $ref);
    if (!isJsonObject(target)) return schema;
    const properties = { ...propertiesOf(target), ...propertiesOf(beside) };
    const required = [...new Set([...requiredOf(target), ...requiredOf(beside)])];
    whole = {
      ...target,
      ...beside,
      ...(Object.keys(properties).length === 0 ? undefined : { properties }),
      ...(required.length === 0 ? undefined : { required }),
    };
  }
  return schema;
}

const REFUSED = ["oneOf", "anyOf", "allOf", "not", "enum"];
/** Unions in unions are looked into this deep. */
const DEEPEST = 32;
const LONGEST_CHAIN = 8;

function objects(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
}

/** The properties of all alternatives: one that they tell apart by is any of what it is in them. */
function eitherOf(branches: readonly JsonObject[]): JsonObject {
  const kinds = new Map<string, Json[]>();
  for (const [name, schema] of branches.flatMap((branch) => Object.entries(propertiesOf(branch)))) {
    const known = kinds.get(name) ?? [];
    if (!known.some((one) => sameJson(one, schema))) known.push(schema);
    kinds.set(name, known);
  }
  return Object.fromEntries(
    [...kinds].map(([name, [only, ...others]]) => [
      name,
      others.length === 0 ? (only ?? {}) : { anyOf: [only ?? {}, ...others] },
    ]),
  );
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

function requiredOf({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? (required as readonly Json[]).filter((name) => typeof name === "string") : [];
}

function common(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  return first.filter((name) => others.every((list) => list.includes(name)));
}
