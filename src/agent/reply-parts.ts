import type { AssistantPart, ToolCallPart } from "../domain/message.js";

/** Stands in requests for a name the model left empty; no provider takes an empty one. */
const UNNAMED = "unnamed_tool";

/**
 * The parts of a reply as they are stored: calls without id, or with one that stands twice, get an id of their own, calls without
 * name a name. Parts that need no change are shared. Nothing for a malformed call where those are to fail.
 */
export function settledParts(
  parts: readonly AssistantPart[],
  messageId: string,
  malformedCalls: "report" | "fail",
): readonly AssistantPart[] | undefined {
  const seen = new Set<string>();
  let order = 0;
  let changed = false;
  const settled = parts.map((part) => {
    if (part.type !== "toolCall") return part;
    const call = settledCall(part, seen, messageId, order++);
    changed ||= call !== part;
    return call;
  });
  const fails =
    malformedCalls === "fail" && settled.some((part) => part.type === "toolCall" && part.malformed !== undefined);
  if (fails) return undefined;
  return changed ? Object.freeze(settled) : parts;
}

function settledCall(part: ToolCallPart, seen: Set<string>, messageId: string, order: number): ToolCallPart {
  // Ports are bound by types, and not everybody's is.
  const { id: given = "" }: { readonly id?: string | undefined } = part;
  const taken = given === "" || seen.has(given);
  const id = taken ? callId(messageId, order) : given;
  seen.add(id);
  if (!taken && part.name !== "") return part;
  const malformed = part.malformed ?? { raw: part.raw ?? "", reason: "the call has no name" };
  return Object.freeze(
    part.name === "" ? { ...part, id, name: UNNAMED, malformed: Object.freeze(malformed) } : { ...part, id },
  );
}

/** Unique for ever and of characters that every provider takes. */
function callId(messageId: string, order: number): string {
  return `${messageId.replaceAll("-", "").replaceAll(".", "_")}_${order}`;
}
