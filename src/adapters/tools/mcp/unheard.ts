import {
  type JSONRPCMessage,
  type ProtocolError,
  ProtocolErrorCode,
  type RequestId,
} from "@modelcontextprotocol/client";

/** Known by its identity, so that no server can say it. */
const UNHEARD = Object.freeze({ unheard: true });

/** What a transport of ours tells whoever waits for an answer that cannot be had, or read: what was asked for may have been done. */
export function unheard(id: RequestId, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InternalError, message, data: UNHEARD } };
}

export function isUnheard(error: ProtocolError): boolean {
  return error.data === UNHEARD;
}
