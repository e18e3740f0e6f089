import { type AgentMessage, type AssistantMessage, isMessage, type ToolMessage, toolCallsOf } from "./message.js";
import type { ToolCall } from "./tool.js";

/** A reply with calls, and their results in the order of the calls. */
export type Group = {
  readonly message: AssistantMessage;
  readonly calls: readonly ToolCall[];
  readonly results: (ToolMessage | undefined)[];
};
type Pairing = { readonly groups: Map<number, Group>; readonly owned: Set<number> };

/** Pairs by assistant message: a result belongs to the nearest earlier unanswered call of its id. `groups` by the index of the reply, `owned` the indexes of results that have a call. */
export function pair(messages: readonly AgentMessage[]): Pairing {
  const groups = new Map<number, Group>();
  const owned = new Set<number>();
  const open = new Map<string, { readonly group: Group; readonly order: number }[]>();
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as AgentMessage;
    if (!isMessage(message)) continue;
    if (message.role === "assistant") {
      const calls = toolCallsOf(message);
      if (calls.length === 0) continue;
      const group: Group = { message, calls, results: calls.map(() => undefined) };
      groups.set(index, group);
      for (let order = calls.length - 1; order >= 0; order--) {
        const id = (calls[order] as ToolCall).id;
        const stack = open.get(id);
        if (stack === undefined) open.set(id, [{ group, order }]);
        else stack.push({ group, order });
      }
    } else if (message.role === "tool") {
      const place = open.get(message.toolCallId)?.pop();
      if (place === undefined) continue;
      place.group.results[place.order] = message;
      owned.add(index);
    }
  }
  return { groups, owned };
}

/** False where nothing can be paired, which is cheap to know. */
export function needsPairing(message: AgentMessage): boolean {
  return (
    message.role === "tool" || (message.role === "assistant" && message.parts.some((part) => part.type === "toolCall"))
  );
}
