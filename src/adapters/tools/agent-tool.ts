export { type AgentToolDetails, subAgentUsage } from "./agent-tool/agent-details.js";
export type { AgentSource, AgentToolProgress, AgentToolTurn } from "./agent-tool/called-agent.js";
export { agentTool, type AgentToolDefinition, type TaskParameters } from "./agent-tool/define-agent-tool.js";
