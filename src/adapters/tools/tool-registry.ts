import { createEmitter } from "../../domain/emitter.js";
import { CompositionError, ToolError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import type { ToolContext, ToolHooks, ToolProvider, ToolReturn, Validation } from "../../ports/tool-provider.js";
import type { DefinedTool } from "./made-tool.js";

/**
 * A provider whose tools come and go at run time; agents list again before their next model call. Tools keep the order in which their
 * names were first registered. A call that was admitted before its tool went is refused as unknown.
 */
export class ToolRegistry implements ToolProvider {
  readonly name: string;
  readonly trustAnnotations = true;
  readonly #tools = new Map<string, DefinedTool>();
  readonly #changes = createEmitter<void>();
  #defs: readonly ToolDef[] = [];

  /** `name` is what errors call the registry; it stands for the source of tools that name none. */
  constructor(tools: readonly DefinedTool[] = [], name = "ToolRegistry") {
    const isList: boolean = Array.isArray(tools);
    if (!isList || typeof name !== "string")
      throw new CompositionError("invalid-config", "ToolRegistry takes a list of tools and a name");
    this.name = name;
    for (const tool of tools) this.register(tool);
  }

  /** Adds a tool; a taken name throws `CompositionError("tool-collision")` and changes nothing, unless `replace` is set. */
  register(tool: DefinedTool, options: { readonly replace?: boolean } = {}): void {
    checkFields("ToolRegistry.register", options, ["replace"]);
    const name: unknown = (tool as Partial<DefinedTool> | undefined)?.def?.name;
    if (typeof name !== "string") {
      throw new CompositionError(
        "invalid-config",
        `${safeLabel(this.name)} takes tools that have a def, as defineTool makes them`,
      );
    }
    if (this.#tools.has(name) && options.replace !== true) {
      throw new CompositionError("tool-collision", `${safeLabel(this.name)} has a tool ${safeLabel(name)} already`);
    }
    this.#tools.set(name, tool);
    this.#changed();
  }

  /** False when there is no such tool. */
  unregister(name: string): boolean {
    const existed = this.#tools.delete(name);
    if (existed) this.#changed();
    return existed;
  }

  listTools(): readonly ToolDef[] {
    return this.#defs;
  }

  async execute(call: ToolCall, context: ToolContext): Promise<ToolReturn> {
    const tool = this.#tools.get(call.name);
    if (tool === undefined) throw new ToolError("unknown-tool", `there is no tool ${safeLabel(call.name)}`);
    return await tool.execute(call, context);
  }

  prepareArguments(name: string, raw: JsonObject): JsonObject {
    return this.#tools.get(name)?.prepareArguments?.(name, raw) ?? raw;
  }

  validate(name: string, args: JsonObject): Validation {
    return this.#tools.get(name)?.validate(name, args) ?? { ok: true, value: args };
  }

  hooks(name: string): ToolHooks | undefined {
    return this.#tools.get(name)?.hooks?.(name);
  }

  conflictKeys(call: ToolCall): readonly string[] {
    return this.#tools.get(call.name)?.conflictKeys?.(call) ?? [];
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changes.subscribe(listener);
  }

  #changed(): void {
    this.#defs = Object.freeze([...this.#tools.values()].map((tool) => tool.def));
    this.#changes.emit();
  }
}
