import { type JSONRPCMessage, parseJSONRPCMessage, ProtocolErrorCode } from "@modelcontextprotocol/client";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/** What a server said as a message of the protocol; nothing for what is none. */
export function messageOf(value: JsonObject): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(soundAnswer(value));
  } catch {
    return undefined;
  }
}

/**
 * Servers that are written by hand say null for what is not there, put fields of their own beside an answer, and fail in words alone: the answer is
 * there all the same.
 */
function soundAnswer(value: JsonObject): JsonObject {
  const { jsonrpc, id, method, result, error } = value;
  if (method !== undefined || id === undefined || jsonrpc === undefined) return value;
  if (isJsonObject(result) && isNone(error)) {
    const { _meta: meta, ...rest } = result;
    return { jsonrpc, id, result: meta === null ? rest : result };
  }
  if (isNone(error) || !isNone(result)) return value;
  return { jsonrpc, id, error: soundError(error) };
}

function soundError(error: Json): JsonObject {
  if (!isJsonObject(error)) return { code: ProtocolErrorCode.InternalError, message: String(error) };
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError,
    message: typeof message === "string" ? message : "it gave no reason",
    ...(data === undefined ? undefined : { data }),
  };
}

function isNone(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}
