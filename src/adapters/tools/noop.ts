import { ToolError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import type { ToolProvider } from "../../ports/tool-provider.js";

/** Has no tools; every call rejects with `ToolError("unknown-tool")`. */
export class NoopToolProvider implements ToolProvider {
  listTools(): readonly ToolDef[] {
    return [];
  }

  execute(call: ToolCall): Promise<never> {
    return Promise.reject(new ToolError("unknown-tool", `there is no tool ${safeLabel(call.name)}`));
  }
}
