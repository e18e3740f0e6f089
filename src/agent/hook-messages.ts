import { type AgentMessage, isMessage } from "../domain/message.js";
import type { StageOf } from "../domain/stage.js";
import { requestView } from "../domain/transcript.js";
import { checkedReplacement } from "./context-check.js";
import type { HookEntry } from "./hook-index.js";
import { HookFailure, type Passed } from "./stages.js";
import type { Settings } from "./settings.js";
import type { TurnRun } from "./turn-run.js";

/** Who gave the messages, and where. */
export type GivenBy = { readonly by: HookEntry; readonly kind: "beforeContext" | "beforeModel" };

/** What hooks made of the conversation, checked; nothing where they left it as it is. Throws `HookFailure`. */
export async function givenContext(
  run: TurnRun,
  { stage, messagesBy }: Passed<"beforeContext">,
): Promise<readonly AgentMessage[] | undefined> {
  const { messages, persist }: StageOf<"beforeContext"> & { readonly persist?: boolean } = stage;
  if (messagesBy === undefined) return undefined;
  const given: GivenBy = { by: messagesBy, kind: "beforeContext" };
  if (persist === true) return storeContext(run, messages, given);
  return sendable(messages, run.wiring.settings.toModelMessages, given);
}

/**
 * Keeps a hook's messages as a record, checked like a compressor's (C1), though it need not be smaller. What the hook took out of a
 * message that stays is out of this request too.
 */
async function storeContext(
  run: TurnRun,
  messages: readonly AgentMessage[],
  given: GivenBy,
): Promise<readonly AgentMessage[]> {
  const { conversation } = run;
  const made = new Map(messages.map((message) => [message.id, message]));
  const current = conversation.view().map((message) => made.get(message.id) ?? message);
  const estimate = Number.POSITIVE_INFINITY;
  const standing = { estimate, stored: conversation.stored(), record: conversation.compaction };
  const replacement = checkedReplacement(current, messages, undefined, standing);
  if (replacement === undefined) throw refused(given);
  const { record, view } = replacement;
  await run.writer.add([], { compaction: record });
  run.bus.publish("contextReplaced", { before: current.length, after: view.length, by: given.kind });
  return view;
}

/**
 * Messages that a hook gave, as they may be sent: every call has its result, each in its place (S4). A list with nothing to answer,
 * empty or ending with the assistant (T1), is a throw of that hook: `HookFailure`.
 */
export function sendable(
  messages: readonly AgentMessage[],
  project: Settings["toModelMessages"],
  given: GivenBy,
): readonly AgentMessage[] {
  const view = requestView(messages);
  const shown = project === undefined ? view.filter(isMessage) : view;
  const last = shown.findLast(({ role }) => role !== "system");
  if (last === undefined || last.role === "assistant") throw refused(given);
  return view;
}

function refused({ by, kind }: GivenBy): HookFailure {
  return new HookFailure(by, kind, new TypeError("these messages hold nothing that a model can answer"));
}
