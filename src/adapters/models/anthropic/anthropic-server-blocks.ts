import type { JsonObject } from "../../../domain/json.js";
import type { AssistantPart } from "../../../domain/message.js";
import type { WireBlock } from "./anthropic-content.js";
import { objectField, textField } from "../wire/wire-json.js";

/** Provider data of a block that only the provider understands, as a part of the reply keeps it. */
export function serverBlockData(block: JsonObject): JsonObject {
  return { block };
}

/**
 * The calls of the provider's own tools (web search, code execution) and their results, which go back in their places as they came. One
 * without its other half, and one whose id was there before, is left out: the provider refuses it.
 */
export class ServerBlocks {
  readonly #ids = new Set<string>();
  readonly #sent = new Set<AssistantPart>();

  /** Looks at the parts of the next reply, in the order of the conversation. */
  pair(parts: readonly AssistantPart[]): void {
    this.#sent.clear();
    const open = new Map<string, AssistantPart>();
    for (const part of parts) {
      const block = blockOf(part);
      const answered = textField(block, "tool_use_id");
      const id = answered ?? textField(block, "id");
      const call = answered === undefined ? undefined : open.get(answered);
      if (id === undefined || this.#ids.has(id)) continue;
      if (answered === undefined) open.set(id, part);
      if (call === undefined) continue;
      this.#ids.add(id);
      this.#sent.add(call).add(part);
    }
  }

  /** The block of a part that is one of these, none where it must not go back; undefined for any other part. */
  take(part: AssistantPart): readonly WireBlock[] | undefined {
    const block = blockOf(part);
    if (block === undefined) return undefined;
    return this.#sent.has(part) ? [block] : [];
  }
}

function blockOf(part: AssistantPart): WireBlock | undefined {
  const block = part.type === "reasoning" ? objectField(part.providerData, "block") : undefined;
  const type = textField(block, "type");
  return block === undefined || type === undefined ? undefined : { ...block, type };
}
