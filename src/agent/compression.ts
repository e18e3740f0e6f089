import { estimateAll } from "../domain/estimate.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { unreachable } from "../domain/unreachable.js";
import type { CompressContext } from "../ports/compressor.js";
import { askCompressor, givenUp } from "./ask-compressor.js";
import type { DecodedAction } from "./compress-action.js";
import { checkedReplacement, checkedView } from "./context-check.js";
import { redirect } from "./redirect.js";
import type { TurnRun } from "./turn-run.js";

/**
 * The conversation after compression (C1): each compressor is asked in turn, the first action that is not `none` and passes the
 * check wins. One that does not pass, an answer that is no action, and a compressor whose model failed or that takes too long is passed
 * over: that is a secondary failure, and its compressor is not asked again in this turn. `messages` is what hooks made of the conversation.
 */
export async function compressContext(
  run: TurnRun,
  messages: readonly AgentMessage[] | undefined,
  reason: CompressContext["reason"],
  attempt = 1,
): Promise<readonly AgentMessage[]> {
  for (const [position, compressor] of run.wiring.compressors.entries()) {
    if (givenUp(run)) break;
    if (run.idleCompressors.includes(compressor)) continue;
    const current = messages ?? run.conversation.view();
    const estimate = messages === undefined ? run.conversation.estimate() : estimateAll(messages);
    const by = compressor.name ?? `compressor-${position}`;
    const step = `${position}${reason === "before-model" ? "" : `.${attempt}`}`;
    const answer = await askCompressor(run, compressor, { messages: current, estimate, reason, step, by });
    if ("action" in answer) {
      if (answer.action.type === "none") continue;
      const done = await carryOut(run, answer.action, current, estimate, by);
      if (done !== undefined) return done;
    }
    const errorCategory = "failure" in answer ? answer.failure : "refused";
    run.secondary({ stage: "compress", operation: safeLabel(by), errorCategory });
    run.idleCompressors = [...run.idleCompressors, compressor];
  }
  return messages ?? run.conversation.view();
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
