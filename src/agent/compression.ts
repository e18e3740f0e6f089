import { Defect, errorCategory } from "../domain/errors.js";
import { estimateAll } from "../domain/estimate.js";
import type { AgentMessage } from "../domain/message.js";
import type { CompressAction, CompressContext, Compressor } from "../ports/compressor.js";
import { checkedReplacement, checkedView } from "./context-check.js";
import { redirect } from "./redirect.js";
import type { TurnRun } from "./turn-run.js";

/**
 * The conversation after compression (C1): each compressor is asked in turn, the first action that is not `none` and passes the
 * check wins. `messages` is what a hook made of the conversation, if one did.
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
    if (action.type === "none") continue;
    const done = await carryOut(run, action, current, estimate, nameOf(compressor, position));
    if (done !== undefined) return done;
    run.idleCompressors.push(compressor);
  }
  return messages ?? run.conversation.view();
}

async function ask(
  run: TurnRun,
  compressor: Compressor,
  place: string,
  asked: {
    readonly current: readonly AgentMessage[];
    readonly estimate: number;
    readonly reason: CompressContext["reason"];
  },
): Promise<CompressAction> {
  const { current, estimate, reason } = asked;
  const { sessionId, signal, round } = run;
  const usage = run.assistantMessage?.usage;
  const { modelContextWindow } = run.wiring.settings;
  const context = { sessionId, modelContextWindow, estimatedTokens: estimate, usage, reason, signal };
  const outcome = await run.scope.step(`compress#${round}.${place}`, async () =>
    compressor.compress([...current], context),
  );
  if (!outcome.ok) throw outcome.error;
  return outcome.value;
}

function nameOf(compressor: Compressor, position: number): string {
  return compressor.name ?? `compressor-${position}`;
}

/** Nothing when the action does not pass the check; then it is dropped, and that is reported. */
async function carryOut(
  run: TurnRun,
  action: Exclude<CompressAction, { type: "none" }>,
  current: readonly AgentMessage[],
  estimate: number,
  by: string,
): Promise<readonly AgentMessage[] | undefined> {
  try {
    const proposed = action.messages.map(run.stamp);
    if (action.type === "view") return checkedView(current, proposed, estimate);
    if (action.type === "newThread") {
      const view = checkedView(current, proposed, estimate);
      return view === undefined ? undefined : await redirect(run, action, view);
    }
    const { conversation } = run;
    const standing = { estimate, stored: conversation.stored(), record: conversation.compaction };
    const replacement = checkedReplacement(current, proposed, action.upTo, standing);
    if (replacement === undefined) return undefined;
    const { record, view } = replacement;
    await run.writer.add([], { compaction: record });
    run.bus.publish("contextReplaced", { before: current.length, after: view.length, by });
    return view;
  } catch (error) {
    if (Defect.is(error) || !(error instanceof TypeError)) throw error;
    run.secondary({ stage: "compress", operation: by, errorCategory: errorCategory(error) });
    return undefined;
  }
}
