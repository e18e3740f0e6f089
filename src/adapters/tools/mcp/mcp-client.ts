import { Client, ProtocolErrorCode } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../domain/json.js";
import type { ElicitationReply } from "./elicitation.js";
import type { McpServerLimits, McpSettings } from "./mcp-options.js";

/** Whom a client tells. */
export type ClientListener = {
  readonly onToolsChanged: () => void;
  readonly onResourcesChanged: () => void;
  readonly onNoise: (error: Error) => void;
};

/** What a client is made of. */
export type ClientParts = Required<Pick<McpServerLimits, "protocol">> & {
  readonly settings: McpSettings;
  readonly listener: ClientListener;
  /** Asks the user what a server asks while a call runs. Never rejects. */
  readonly elicit: (params: JsonObject, signal: AbortSignal) => Promise<ElicitationReply>;
};

/** A server of 2025 may say nothing at all to a question it does not know. */
const PROBE_MS = 3_000;

/** The SDK's client as a session needs it: it tells of changes and reads no list by itself, compiles nothing, and knows of the user alone. */
export function newClient({ protocol, settings, listener, elicit }: ClientParts): Client {
  const asks = settings.onElicitation !== undefined;
  const client = new Client(settings.clientInfo, {
    versionNegotiation: protocol === "auto" ? { mode: "auto", probe: { timeoutMs: PROBE_MS } } : { mode: "legacy" },
    // In the protocol of 2026 changes are told only to those who ask for it.
    listChanged: {
      tools: { autoRefresh: false, debounceMs: 0, onChanged: listener.onToolsChanged },
      ...(settings.resources && {
        resources: { autoRefresh: false, debounceMs: 0, onChanged: listener.onResourcesChanged },
      }),
    },
    capabilities: asks ? { elicitation: { form: {}, url: {} } } : {},
    // Nothing of a server's is compiled: what there is to check is checked by us.
    jsonSchemaValidator: {
      getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
    },
  });
  client.onerror = listener.onNoise;
  client.setNotificationHandler("notifications/tools/list_changed", listener.onToolsChanged);
  if (settings.resources)
    client.setNotificationHandler("notifications/resources/list_changed", listener.onResourcesChanged);
  if (asks) {
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) =>
      elicit(params as JsonObject, mcpReq.signal),
    );
  }
  client.fallbackRequestHandler = (request) => {
    if (request.method === "elicitation/create") return Promise.resolve({ action: "decline" });
    return Promise.reject(Object.assign(new Error("Method not found"), { code: ProtocolErrorCode.MethodNotFound }));
  };
  return client;
}
