import { estimateAll } from "../domain/estimate.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { unreachable } from "../domain/unreachable.js";
import type { CompressAction, CompressContext, Compressor } from "../ports/compressor.js";
import { type DecodedAction, decodeAction } from "./compress-action.js";
import { checkedReplacement, checkedView } from "./context-check.js";
import { redirect } from "./redirect.js";
import type { TurnRun } from "./turn-run.js";

/**
 * The conversation after compression (C1): each compressor is asked in turn, the first action that is not `none` and passes the
 * check wins. One that does not pass, and an answer that is no action, is dropped: that is a secondary failure, `refused` or the
 * `TypeError` of decoding it, and its compressor is not asked again in this turn. `messages` is what hooks made of the conversation.
 */
export async function compressContext(
  run: TurnRun,
  messages: readonly AgentMessage[] | undefined,
  reason: CompressContext["reason"],
  attempt = 1,
): Promise<readonly AgentMessage[]> {
  for (const [position, compressor] of run.wiring.compressors.entries()) {
    if (run.idleCompressors.includes(compressor)) continue;
    const current = messages ?? run.conversation.view();
    const estimate = messages === undefined ? run.conversation.estimate() : estimateAll(messages);
    const action = await ask(run, compressor, `${position}${reason === "before-model" ? "" : `.${attempt}`}`, {
      current,
      estimate,
      reason,
    });
    if (action?.type === "none") continue;
    const by = nameOf(compressor, position);
    const done = action === undefined ? undefined : await carryOut(run, action, current, estimate, by);
    if (done !== undefined) return done;
    const errorCategory = action === undefined ? "TypeError" : "refused";
    run.secondary({ stage: "compress", operation: safeLabel(by), errorCategory });
    run.idleCompressors.push(compressor);
  }
  return messages ?? run.conversation.view();
}

/** Nothing for an answer that is no action. */
async function ask(
  run: TurnRun,
  compressor: Compressor,
  place: string,
  asked: {
    readonly current: readonly AgentMessage[];
    readonly estimate: number;
    readonly reason: CompressContext["reason"];
  },
): Promise<DecodedAction | undefined> {
  const { current, estimate, reason } = asked;
  const { sessionId, signal, round } = run;
  const usage = run.assistantMessage?.usage;
  const { modelContextWindow } = run.wiring.settings;
  const context = { sessionId, modelContextWindow, estimatedTokens: estimate, usage, reason, signal };
  const ask = async (): Promise<CompressAction> => run.within(() => compressor.compress([...current], context));
  const outcome = await run.scope.step(`compress#${round}.${place}`, ask, { interruptible: true });
  // Whoever interrupted does not wait for a summary; the next round asks again.
  if (!outcome.ok && run.control.interrupted) return { type: "none" };
  if (!outcome.ok) throw outcome.error;
  try {
    return decodeAction(outcome.value, run.stamp);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function nameOf(compressor: Compressor, position: number): string {
  return compressor.name ?? `compressor-${position}`;
}

/** The request that an action makes, when it is carried out; nothing when it does not pass the check. */
async function carryOut(
  run: TurnRun,
  action: Exclude<DecodedAction, { type: "none" }>,
  current: readonly AgentMessage[],
  estimate: number,
  by: string,
): Promise<readonly AgentMessage[] | undefined> {
  const { messages } = action;
  switch (action.type) {
    case "view":
      return checkedView(current, messages, estimate);
    case "newThread": {
      const view = checkedView(current, messages, estimate);
      return view === undefined ? undefined : redirect(run, action, view);
    }
    case "replace": {
      const { conversation } = run;
      const standing = { estimate, stored: conversation.stored(), record: conversation.compaction };
      const replacement = checkedReplacement(current, messages, action.upTo, standing);
      if (replacement === undefined) return undefined;
      const { record, view } = replacement;
      await run.writer.add([], { compaction: record });
      run.bus.publish("contextReplaced", { before: current.length, after: view.length, by });
      return view;
    }
    default:
      return unreachable(action);
  }
}
