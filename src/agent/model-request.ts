import { Defect, ModelError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage, Message } from "../domain/message.js";
import type { ChatOptions } from "../domain/model.js";
import type { StageOf } from "../domain/stage.js";
import type { ToolDef } from "../domain/tool.js";
import { compressContext } from "./compression.js";
import { withoutCustom } from "./settings.js";
import type { HookEntry } from "./hook-index.js";
import type { TurnRun } from "./turn-run.js";

/** The request of one model call before the port sees it, and how many of its `beforeModel` hooks were entered. */
export type PreparedRequest = {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDef[];
  readonly options: ChatOptions;
  readonly requestContext: JsonObject | undefined;
  readonly entered: number;
};

/** A hook ended the turn instead. */
export type Ended = {
  readonly ended: { readonly kind: "stop" | "abort"; readonly reason: string; readonly by: HookEntry };
  readonly entered: number;
};

/** The conversation a round sends: after `beforeContext` and compression, without the system prompt. */
export async function roundContext(run: TurnRun): Promise<{ readonly messages: readonly AgentMessage[] } | Ended> {
  let messages: readonly AgentMessage[] | undefined;
  if (run.stages.has("beforeContext")) {
    const passed = await run.stages.forward({ kind: "beforeContext", messages: run.conversation.view() });
    const ended = endedBy(passed);
    if (ended !== undefined) return ended;
    const stage: StageOf<"beforeContext"> & { readonly persist?: boolean } = passed.stage;
    messages = stage.messages;
    if (stage.persist === true) {
      await storeContext(run, messages);
      messages = undefined;
    }
  }
  return { messages: await compressContext(run, messages, "before-model") };
}

async function storeContext(run: TurnRun, messages: readonly AgentMessage[]): Promise<void> {
  const before = run.conversation.view();
  const upTo = run.conversation.last();
  if (upTo === undefined) return;
  await run.writer.add([], { compaction: { upTo: upTo.id, messages } });
  run.bus.publish("contextReplaced", { before: before.length, after: messages.length, by: "beforeContext" });
}

/** Puts the system prompt in front, projects, and asks `beforeModel`. Throws `ModelError("request-build")` for what fails on the way. */
export async function prepareRequest(
  run: TurnRun,
  context: readonly AgentMessage[],
  attempt: number,
): Promise<PreparedRequest | Ended> {
  const system = await systemMessages(run, attempt);
  const project = run.wiring.settings.toModelMessages;
  const projected = project === undefined ? withoutCustom(context) : projectedBy(run, () => project([...context]));
  const messages = system.length === 0 ? projected : system.concat(projected);
  const { options } = run.wiring.settings;
  const tools = run.table.defs;
  if (!run.stages.has("beforeModel")) return { messages, tools, options, requestContext: undefined, entered: 0 };
  const passed = await run.stages.forward({ kind: "beforeModel", messages, tools, options }, { attempt });
  const ended = endedBy(passed);
  if (ended !== undefined) return ended;
  const { stage, entered } = passed;
  return {
    messages: stage.messages,
    tools: stage.tools,
    options: stage.options,
    requestContext: stage.requestContext,
    entered,
  };
}

async function systemMessages(run: TurnRun, attempt: number): Promise<Message[]> {
  const { system } = run.wiring.settings;
  if (system === undefined) return [];
  if (typeof system === "string") run.system = system;
  else {
    const { sessionId, turnId, round, signal } = run;
    const name = `system#${round}.${attempt - 1}`;
    const outcome = await run.scope.step(name, async () => system({ sessionId, turnId, round, signal }));
    if (!outcome.ok) throw buildError("the system prompt", outcome.error);
    run.system = outcome.value;
  }
  if (run.system === "") return [];
  return [{ role: "system", content: [{ type: "text", text: run.system }], id: `${run.turnId}.system`, at: run.now }];
}

function projectedBy(run: TurnRun, project: () => readonly (Message | AgentMessage | object)[]): readonly Message[] {
  try {
    return withoutCustom(project().map((message) => run.stamp(message as AgentMessage)));
  } catch (error) {
    throw buildError("toModelMessages", error);
  }
}

function buildError(what: string, error: unknown): unknown {
  if (Defect.is(error)) return error;
  return new ModelError("request-build", `${what} failed`, { cause: error });
}

function endedBy(passed: {
  readonly outcome?: { readonly kind: string };
  readonly by?: HookEntry;
  readonly entered: number;
}): Ended | undefined {
  const { outcome, by, entered } = passed;
  if (outcome === undefined || by === undefined) return undefined;
  const { kind, reason } = outcome as { readonly kind: "stop" | "abort"; readonly reason: string };
  return { ended: { kind, reason, by }, entered };
}
