import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/**
 * The schema of an object without `oneOf`, `anyOf`, `allOf`, `not` and `enum` on top, which providers refuse there: the properties of
 * all alternatives are offered together, and those stay required that every alternative requires. It allows more than the tool does;
 * whoever validates has the whole.
 */
export function withoutUnionOnTop(schema: JsonObject, depth = 0): JsonObject {
  if (!REFUSED.some((key) => Object.hasOwn(schema, key))) return schema;
  const { oneOf, anyOf, allOf, not: _not, enum: _enum, ...rest } = schema;
  const flat = (list: Json | undefined): readonly JsonObject[] =>
    depth > DEEPEST ? [] : objects(list).map((branch) => withoutUnionOnTop(branch, depth + 1));
  const every = flat(allOf);
  const unions = [flat(oneOf), flat(anyOf)];
  const properties = [...unions.flat(), ...every, rest].map(propertiesOf);
  const required = [rest, ...every].map(requiredOf).concat(unions.map((branches) => common(branches.map(requiredOf))));
  const demanded = [...new Set(required.flat())];
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...properties) as JsonObject,
    ...(demanded.length === 0 ? undefined : { required: demanded }),
  };
}

const REFUSED = ["oneOf", "anyOf", "allOf", "not", "enum"];
/** Unions in unions are looked into this deep. */
const DEEPEST = 32;

function objects(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
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
