import { adopt } from "../../../domain/adopt.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { StandardSchema } from "./standard-types.js";

/** Makes a JSON Schema of a library's schema, where the library does not do it by itself. */
export type ToJsonSchema = (schema: never) => object;

/** Which side of a schema the JSON Schema is of. */
export type SchemaSide = "input" | "output";

const TARGET = "draft-2020-12";

/**
 * The JSON Schema of a library's schema: what `given` makes of it, else what the schema says itself, by the standard (`~standard.jsonSchema`)
 * or by a method of its own. Throws `CompositionError("invalid-schema")` where there is none, or it is not that of an object.
 */
export function schemaOf(
  schema: StandardSchema,
  side: SchemaSide,
  tool: string,
  given: ToJsonSchema | undefined,
): JsonObject {
  const where = `the ${side} schema of ${safeLabel(tool)}`;
  const made = asked(schema, side, where, given);
  if (made === undefined) {
    throw new CompositionError("invalid-schema", `${where} cannot say its JSON Schema; give toJsonSchema`);
  }
  const { $schema: _dialect, ...document } = jsonOf(made, where);
  if (side === "input" && document["type"] !== "object") {
    throw new CompositionError("invalid-schema", `${where} has no type "object"`);
  }
  return document;
}

function asked(schema: StandardSchema, side: SchemaSide, where: string, given: ToJsonSchema | undefined): unknown {
  try {
    if (given !== undefined) return given(schema as never);
    const standard: unknown = Reflect.get(schema["~standard"], "jsonSchema");
    const convert = methodOf(standard, side);
    if (convert !== undefined) return convert({ target: TARGET });
    // Names that libraries had before the standard.
    return methodOf(schema, "toJsonSchema")?.({}) ?? methodOf(schema, "toJSONSchema")?.({ io: side, target: TARGET });
  } catch (cause) {
    throw new CompositionError("invalid-schema", `${where} has no JSON Schema: ${thrownLabel(cause)}`, { cause });
  }
}

/** Schemas may be functions. */
function methodOf(owner: unknown, name: string): ((argument: object) => unknown) | undefined {
  if ((typeof owner !== "object" && typeof owner !== "function") || owner === null) return undefined;
  const method: unknown = Reflect.get(owner, name);
  return typeof method === "function" ? (argument) => Reflect.apply(method, owner, [argument]) as unknown : undefined;
}

function jsonOf(made: unknown, where: string): JsonObject {
  try {
    if (isJsonObject(made)) return adopt(made, "JSON Schema");
  } catch (cause) {
    throw new CompositionError("invalid-schema", `${where} has a JSON Schema that is no JSON`, { cause });
  }
  throw new CompositionError("invalid-schema", `${where} has a JSON Schema that is no object`);
}
