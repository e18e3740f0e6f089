export { Agent } from "./agent.js";
export type { AgentPorts } from "./agent-ports.js";
export { InProcessScope, type InProcessOptions } from "./in-process-scope.js";
export { runLoop, type LoopPorts } from "./run-loop.js";
export { toChatOptions } from "./settings.js";
export { systemRuntime } from "./system-runtime.js";
