import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { withoutNulls } from "../../tools/mcp/without-nulls.js";

/** What a client said, where it says null for what it does not say: parameters, and what is optional among them. Arguments are the tool's. */
export function soundRequest(value: JsonObject): object {
  const { params, ...rest } = value;
  if (rest["method"] === undefined || params === undefined) return value;
  if (!isJsonObject(params)) return params === null ? rest : value;
  const told = withoutNulls(params, 1);
  const { _meta: meta } = told;
  return { ...rest, params: isJsonObject(meta) ? { ...told, _meta: withoutNulls(meta, 1) } : told };
}
