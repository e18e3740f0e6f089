import type { Agent } from "ennead";
import { mcpServer } from "ennead/hosts/mcp-server";

export async function serve(agent: Agent): Promise<void> {
  await using server = mcpServer(agent, { name: "notes" });
  await server.serveStdio();
  await agent.shutdown();
}
