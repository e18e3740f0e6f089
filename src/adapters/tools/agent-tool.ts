export {
  agentTool,
  type AgentSource,
  type AgentToolDefinition,
  type AgentToolTurn,
  type TaskParameters,
} from "./agent-tool/define-agent-tool.js";
export { type AgentToolDetails, subAgentUsage } from "./agent-tool/agent-details.js";
