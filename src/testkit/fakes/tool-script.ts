import { adopt } from "../../domain/adopt.js";
import { Defect, ToolError } from "../../domain/errors.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import { ScriptExhausted } from "./script-exhausted.js";
import type { ToolStep } from "./tool-outcome.js";

type Tool = { readonly def: ToolDef; readonly script: ToolStep | readonly ToolStep[]; used: number };

/** Which tools there are, and which step each call of them takes. */
export class ToolScript {
  readonly #tools = new Map<string, Tool>();
  readonly #byCall = new Map<string, ToolStep>();
  #overrun: ScriptExhausted | undefined;

  add(def: ToolDef, script: ToolStep | readonly ToolStep[]): void {
    this.#tools.set(def.name, { def: adopt(def, "tool"), script, used: 0 });
  }

  remove(name: string): void {
    this.#tools.delete(name);
  }

  forCall(callId: string, step: ToolStep): void {
    this.#byCall.set(callId, step);
  }

  /** In the order in which they were added. */
  defs(): readonly ToolDef[] {
    return [...this.#tools.values()].map((tool) => tool.def);
  }

  /** Takes the step of this call: that of its id, else the next of its tool. Throws `ToolError("unknown-tool")` or `ScriptExhausted`. */
  next(call: ToolCall): ToolStep {
    const tool = this.#tools.get(call.name);
    if (tool === undefined) throw new ToolError("unknown-tool", "this provider has no tool of that name");
    const own = this.#byCall.get(call.id);
    if (own !== undefined) {
      this.#byCall.delete(call.id);
      return own;
    }
    tool.used += 1;
    if (!isList(tool.script)) return tool.script;
    const step = tool.script[tool.used - 1];
    if (step !== undefined) return step;
    this.#overrun ??= new ScriptExhausted("tool_script", tool.used, tool.script.length, tool.def.name);
    throw this.#overrun;
  }

  /** Throws a `Defect` when a list ran out or was not used up, or when a call with an outcome of its own never came. */
  assertDone(): void {
    if (this.#overrun !== undefined) throw this.#overrun;
    for (const { def, script, used } of this.#tools.values()) {
      if (!isList(script) || used >= script.length) continue;
      throw new Defect(`tool_script_unfinished: ${used} of ${script.length} steps of ${def.name} were used`);
    }
    const call = this.#byCall.keys().next().value;
    if (call !== undefined) throw new Defect(`tool_script_unfinished: no call ${call} came`);
  }
}

function isList(script: ToolStep | readonly ToolStep[]): script is readonly ToolStep[] {
  return Array.isArray(script);
}
