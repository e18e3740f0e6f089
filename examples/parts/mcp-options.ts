import { McpToolProvider } from "ennead/tools/mcp";

declare function currentToken(): Promise<string>;
declare function ask(question: string): Promise<boolean>;
declare const approved: Record<string, string>;

export const mcp = new McpToolProvider({
  servers: {
    // #region process
    files: {
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann/notes"],
      env: { LOG_LEVEL: "warn" },
      required: true,
      timeoutMs: 30_000,
      maxTotalTimeoutMs: 300_000,
    },
    // #endregion process
    // #region address
    web: {
      url: "https://mcp.example.com/mcp",
      headers: { "x-tenant": "acme" },
      authToken: currentToken,
    },
    // #endregion address
  },
  // #region resources
  resources: true,
  // #endregion resources
  // #region elicitation
  onElicitation: async ({ server, message, mode }) => {
    if (mode === "url") return { action: "decline" };
    const agreed = await ask(`${server} asks: ${message}`);
    return agreed ? { action: "accept", content: { confirmed: true } } : { action: "decline" };
  },
  // #endregion elicitation
  // #region drift
  approved,
  onDrift: "refuse",
  onEvent: (event) => {
    if (event.type === "toolDrifted") console.warn(`${event.server} changed ${event.tool}`);
  },
  // #endregion drift
});
