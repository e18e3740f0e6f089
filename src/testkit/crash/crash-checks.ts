import { isMessage, textOf } from "../../domain/message.js";
import { safeLabel } from "../../domain/safe-label.js";
import { type Session, SESSION_KEYS } from "../../domain/session.js";
import { jsonDifference } from "../json-difference.js";
import { storedLaw } from "../law.js";
import type { ToolRun, Witness } from "./witness.js";

/** What a crash broke. `law`: the transcript; `lost`: something the store had taken; `repeated`: an effect that is not idempotent; `unfinished`: the turn could not go on; `differs`: a replay came to something else. */
export type CrashFault = {
  readonly kind: "law" | "lost" | "repeated" | "unfinished" | "lease" | "differs";
  readonly text: string;
};

/** What came of a turn that nothing interrupted. */
export type Undisturbed = { readonly session: Session; readonly runs: readonly ToolRun[] };

/** The law of transcripts. */
export function lawFaults(session: Session): CrashFault[] {
  return storedLaw(session).map(({ text }) => ({ kind: "law", text }));
}

/** A turn that ended gave its lease back. */
export function leaseFaults(id: string, { metadata }: Session): CrashFault[] {
  if (!(SESSION_KEYS.turn in metadata)) return [];
  return [{ kind: "lease", text: `session ${safeLabel(id)} is still leased though no turn has it` }];
}

/** Every message that the store said it had taken is there, unchanged. */
export function lostMessages(witness: Witness, id: string, session: Session): CrashFault[] {
  const there = new Map(session.messages.map((message) => [message.id, message]));
  const faults: CrashFault[] = [];
  for (const [messageId, message] of witness.stored.get(id) ?? []) {
    const now = there.get(messageId);
    const what = `message ${safeLabel(messageId)} (${safeLabel(message.role)}), which the store had taken,`;
    const difference = jsonDifference(message, now);
    if (now === undefined) faults.push({ kind: "lost", text: `${what} is gone` });
    else if (difference !== undefined) faults.push({ kind: "lost", text: `${what} was changed: ${difference}` });
  }
  return faults;
}

/** What was asked is in the session as often as without a crash. */
export function inputFaults(expected: Session, actual: Session): CrashFault[] {
  const difference = jsonDifference(asked(expected), asked(actual), "user messages");
  return difference === undefined ? [] : [{ kind: "lost", text: difference }];
}

function asked({ messages }: Session): string[] {
  return messages
    .filter((message) => isMessage(message) && message.role === "user")
    .map((message) => textOf(message as never));
}

/** No effect that is not declared idempotent twice; `mayRepeat` excuses runs whose outcome nobody had recorded. */
export function repeatedEffects(
  runs: readonly ToolRun[],
  undisturbed: Undisturbed,
  mayRepeat: (run: ToolRun) => boolean,
): CrashFault[] {
  const faults: CrashFault[] = [];
  const told = new Set<string>();
  for (const run of runs) {
    if (run.repeatable || mayRepeat(run) || told.has(run.effect)) continue;
    const sameCall = runs.filter(({ executionId }) => executionId === run.executionId).length;
    const same = runs.filter(({ effect }) => effect === run.effect).length;
    const without = undisturbed.runs.filter(({ effect }) => effect === run.effect).length;
    if (sameCall < 2 && same <= Math.max(without, 1)) continue;
    told.add(run.effect);
    const often =
      sameCall < 2 ? `${same} times with the same arguments, ${without} without a crash` : `${sameCall} times`;
    const name = `tool ${safeLabel(run.toolName)} (call ${safeLabel(run.callId)})`;
    faults.push({ kind: "repeated", text: `${name} ran ${often}; it is not declared idempotent` });
  }
  return faults;
}

/** A replay ends where an undisturbed run ends, but for times. */
export function replayFaults(expected: Session, actual: Session): CrashFault[] {
  const difference = jsonDifference(timeless(expected), timeless(actual), "session");
  return difference === undefined ? [] : [{ kind: "differs", text: `unlike without a crash, ${difference}` }];
}

/** Without when it was: messages and what the framework notes in metadata say that as `at`. */
function timeless({ messages, metadata }: Session): unknown {
  return JSON.parse(JSON.stringify({ messages, metadata }), (key, value: unknown) => (key === "at" ? 0 : value));
}
