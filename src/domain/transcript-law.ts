import { type AgentMessage, isMessage } from "./message.js";
import { type Group, pair } from "./pairing.js";
import { safeLabel } from "./safe-label.js";

/**
 * A place where a history breaks the law of transcripts. `index` counts in the list that was checked, and `messageId` is the message
 * there: the reply of the call, or the result that belongs to no call, or to one that has its result. `text` says it in one line that
 * is safe to print.
 */
export type TranscriptViolation = {
  readonly kind: "missing-result" | "orphan-result" | "not-adjacent" | "out-of-order";
  readonly index: number;
  readonly messageId: string;
  readonly callId: string;
  readonly text: string;
};

/**
 * Every violation of a legal history: each call has exactly one result, right behind its message and in the order of the calls. Each
 * entry of `pending` excuses one call of that id from having a result, the newest one first. A stored history is in the order in which
 * results came: check `orderResults` of it.
 */
export function transcriptLaw(
  messages: readonly AgentMessage[],
  options: { readonly pending?: readonly string[] | undefined } = {},
): TranscriptViolation[] {
  const { groups, owned } = pair(messages);
  const excused = excusedCalls(groups, options.pending ?? []);
  const asked = new Set<string>();
  const violations: TranscriptViolation[] = [];
  messages.forEach((message, index) => {
    if (!isMessage(message)) return;
    const add = (kind: TranscriptViolation["kind"], callId: string, fault = FAULTS[kind]): void => {
      const text = `message "${safeLabel(message.id)}" (index ${index}): ${fault(`call "${safeLabel(callId)}"`)}`;
      violations.push({ kind, index, messageId: message.id, callId, text });
    };
    if (message.role === "tool" && !owned.has(index)) {
      add("orphan-result", message.toolCallId, asked.has(message.toolCallId) ? answeredTwice : undefined);
    }
    const group = groups.get(index);
    if (group === undefined) return;
    for (const { id } of group.calls) asked.add(id);
    const after = messages.slice(index + 1, index + 1 + group.calls.length);
    checkGroup(group, after, (kind, order) => {
      if (kind !== "missing-result" || excused.get(group)?.has(order) !== true) add(kind, group.calls[order]?.id ?? "");
    });
  });
  return violations;
}

type Faulty = (kind: "missing-result" | "not-adjacent" | "out-of-order", order: number) => void;

function checkGroup(group: Group, after: readonly AgentMessage[], faulty: Faulty): void {
  const present = group.results.filter((result) => result !== undefined);
  const adjacent = after.slice(0, present.length);
  group.results.forEach((result, order) => {
    if (result === undefined) faulty("missing-result", order);
    else if (!adjacent.includes(result)) faulty("not-adjacent", order);
    else if (adjacent.indexOf(result) !== present.indexOf(result)) faulty("out-of-order", order);
  });
}

/** Which open calls need no result, by their position in the reply. */
function excusedCalls(groups: ReadonlyMap<number, Group>, pending: readonly string[]): Map<Group, Set<number>> {
  const left = new Map<string, number>();
  for (const id of pending) left.set(id, (left.get(id) ?? 0) + 1);
  const excused = new Map<Group, Set<number>>();
  if (left.size === 0) return excused;
  for (const group of [...groups.values()].reverse()) {
    for (let order = group.calls.length - 1; order >= 0; order--) {
      const id = group.calls[order]?.id ?? "";
      const count = left.get(id) ?? 0;
      if (count === 0 || group.results[order] !== undefined) continue;
      left.set(id, count - 1);
      excused.set(group, (excused.get(group) ?? new Set()).add(order));
    }
  }
  return excused;
}

const FAULTS: Readonly<Record<TranscriptViolation["kind"], (call: string) => string>> = {
  "missing-result": (call) => `${call} has no result`,
  "orphan-result": (call) => `a result of ${call}, which nobody made before`,
  "not-adjacent": (call) => `the result of ${call} does not follow directly`,
  "out-of-order": (call) => `the result of ${call} is out of the order of the calls`,
};

const answeredTwice = (call: string): string => `one more result of ${call}, which has its result`;
