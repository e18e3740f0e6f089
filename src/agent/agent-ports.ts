import type { AgentConfig } from "../ports/agent-config.js";
import type { CommandPort } from "../ports/command.js";
import type { Compressor } from "../ports/compressor.js";
import type { PipelineHook } from "../ports/hook.js";
import type { Lifecycle } from "../ports/lifecycle.js";
import type { MemoryPort } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import type { Observer } from "../ports/observer.js";
import type { Runtime } from "../ports/runtime.js";
import type { SessionStore } from "../ports/session-store.js";
import type { ToolProvider } from "../ports/tool-provider.js";

/** The names of the ports and of what stands beside them. */
export const PORT_NAMES = [
  "model",
  "tools",
  "hooks",
  "memory",
  "compressors",
  "observers",
  "sessions",
  "lifecycles",
  "commands",
  "config",
  "runtime",
] as const satisfies readonly (keyof AgentPorts)[];

/** What an agent is made of. The order of each list is the order of the rules. */
export type AgentPorts = {
  readonly model: ModelPort;
  readonly tools?: readonly ToolProvider[] | undefined;
  readonly hooks?: readonly PipelineHook[] | undefined;
  readonly memory?: readonly MemoryPort[] | undefined;
  readonly compressors?: readonly Compressor[] | undefined;
  readonly observers?: readonly Observer[] | undefined;
  /** The first is the authority, the rest are mirrors (S1). */
  readonly sessions: readonly SessionStore[];
  readonly lifecycles?: readonly Lifecycle[] | undefined;
  readonly commands?: readonly CommandPort[] | undefined;
  readonly config?: AgentConfig | undefined;
  /** Default the real clock and random ids. */
  readonly runtime?: Runtime | undefined;
};
