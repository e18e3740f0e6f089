import type { JsonObject } from "../../domain/json.js";
import type { AssistantPart } from "../../domain/message.js";
import type { WireBlock } from "./anthropic-content.js";
import { objectField, textField } from "./wire-json.js";

/** Provider data of a block that only the provider understands, as a part of the reply keeps it. */
export function serverBlockData(block: JsonObject): JsonObject {
  return { block };
}

/**
 * The calls of the provider's own tools (web search, code execution) and their results, which go back in their places as they came. One
 * without its other half is left out: the provider refuses it.
 */
export class ServerBlocks {
  readonly #paired: ReadonlySet<string>;

  constructor(parts: readonly AssistantPart[]) {
    const calls = new Set<string>();
    const paired = new Set<string>();
    for (const part of parts) {
      const block = blockOf(part);
      const id = textField(block, "id");
      const answered = textField(block, "tool_use_id");
      if (answered !== undefined && calls.delete(answered)) paired.add(answered);
      else if (id !== undefined && !paired.has(id)) calls.add(id);
    }
    this.#paired = paired;
  }

  /** The blocks of a part that is one of these, none where it must not go back; undefined for any other part. */
  take(part: AssistantPart): readonly WireBlock[] | undefined {
    const block = blockOf(part);
    if (block === undefined) return undefined;
    const id = textField(block, "tool_use_id") ?? textField(block, "id") ?? "";
    return this.#paired.has(id) ? [block] : [];
  }
}

function blockOf(part: AssistantPart): WireBlock | undefined {
  const block = part.type === "reasoning" ? objectField(part.providerData, "block") : undefined;
  const type = textField(block, "type");
  return block === undefined || type === undefined ? undefined : { ...block, type };
}
