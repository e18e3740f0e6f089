import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { withoutNulls } from "./without-nulls.js";

/** The result, its capabilities, one of them, and what there is of it. */
const HANDSHAKE_LEVELS = 4;

const SAID = Symbol("what the server said");

/** What the SDK takes for the answer to whatever we ask, in the protocol that it judges answers of. */
const COMPLETE = {
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
  content: [],
  contents: [],
  tools: [],
  resources: [],
  resourceTemplates: [],
} as const;

/**
 * Answers are decoded by us: one block or tool of a kind that the SDK does not know must not cost the others. In the protocol of 2026 it judges
 * them before anybody is asked, so that an answer to a request of ours is put aside in a message that it takes for one.
 */
export function putAside(message: JSONRPCMessage): void {
  // Some servers answer with the number of a request as a text; the SDK's own requests have names.
  if ("result" in message && Number.isInteger(Number(message.id)))
    message.result = { ...COMPLETE, [SAID]: message.result } as typeof message.result;
}

/** Progress is a sign of life, also of a server that says null for what it does not tell of it. */
export function soundProgress(message: JSONRPCMessage): void {
  if (!("method" in message) || message.method !== "notifications/progress" || message.params === undefined) return;
  message.params = withoutNulls(message.params, 1);
}

/** A server that says null for what it has not, or does not know of itself, can be used all the same. */
export function soundHandshake(message: JSONRPCMessage): void {
  if ("result" in message) message.result = withoutNulls(message.result, HANDSHAKE_LEVELS);
}

/** The schema of an answer that is handed over as the server said it. */
export const AS_IT_IS = {
  "~standard": {
    version: 1,
    vendor: "ennead",
    validate: (value: unknown) => ({
      value: typeof value === "object" && value !== null && SAID in value ? value[SAID] : value,
    }),
  },
} as const;
