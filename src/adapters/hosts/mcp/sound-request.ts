import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/** What a client said, where it says null for what it does not say: parameters, and what is optional among them. */
export function soundRequest(value: JsonObject): JsonObject {
  const { params, ...rest } = value;
  if (rest["method"] === undefined || params === undefined) return value;
  if (!isJsonObject(params)) return params === null ? rest : value;
  const told = withoutNulls(params);
  const { _meta: meta } = told;
  return { ...rest, params: isJsonObject(meta) ? { ...told, _meta: withoutNulls(meta) } : told };
}

function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries<Json>(fields).filter(([, value]) => value !== null));
}
