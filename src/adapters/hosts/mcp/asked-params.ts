import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";

/** What a client asks for by its name, and with what. */
export type Asked = { readonly name: string; readonly args: JsonObject };

/** Parameters are read by us: the SDK calls those of a wrong type a failure of the server, and drops arguments named `__proto__`. */
export const AS_THEY_ARE = {
  params: { "~standard": { version: 1, vendor: "ennead", validate: (value: unknown) => ({ value }) } },
} as const;

/** Rejects what is no name with arguments with a protocol error; arguments may be left out. */
export function askedOf(params: unknown): Asked {
  const { name, arguments: args = {} } = isJsonObject(params) ? params : {};
  if (typeof name !== "string") throw refusal("name is no text");
  if (!isJsonObject(args)) throw refusal("arguments is no object");
  return { name, args };
}

/** What the client can mend, in words for its user. */
export function refusal(reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, reason);
}
