import type { CommandAccess } from "../ports/command-access.js";
import type { Compressor } from "../ports/compressor.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import type { Runtime } from "../ports/runtime.js";
import type { ToolProvider } from "../ports/tool-provider.js";
import type { HookIndex } from "./hook-index.js";
import type { Receiver } from "./observers.js";
import type { Settings } from "./settings.js";
import type { CallContext } from "./system-runtime.js";
import type { ToolLister } from "./tool-table.js";

/** Everything one turn is wired to: the agent's parts with the turn's own added. Shared, never changed. */
export type Wiring = {
  readonly model: ModelPort;
  readonly providers: readonly ToolProvider[];
  readonly lister: ToolLister;
  readonly hooks: HookIndex;
  readonly memory: MemoryAccess;
  readonly compressors: readonly Compressor[];
  readonly receivers: readonly Receiver[];
  readonly commands: CommandAccess;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly calls: CallContext;
};
