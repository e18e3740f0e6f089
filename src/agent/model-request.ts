import { adopt } from "../domain/adopt.js";
import { Defect, ModelError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage, Message } from "../domain/message.js";
import type { ChatOptions } from "../domain/model.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { ToolDef } from "../domain/tool.js";
import { type Ended, endedBy } from "./ended-by-hook.js";
import { compressContext } from "./compression.js";
import { givenContext, sendable } from "./hook-messages.js";
import { type Settings, withoutCustom } from "./settings.js";
import type { HookEntry } from "./hook-index.js";
import { isThenable } from "./observers.js";
import type { Passed } from "./stages.js";
import type { TurnRun } from "./turn-run.js";

/** The request of one model call before the port sees it, and how many of its `beforeModel` hooks were entered. */
export type PreparedRequest = {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDef[];
  readonly options: ChatOptions;
  readonly requestContext: JsonObject | undefined;
  readonly entered: number;
};

/** What a round sends without the system prompt; `plain` when it is known to hold no custom message. */
export type RoundContext = { readonly messages: readonly AgentMessage[]; readonly plain: boolean };

/** The conversation a round sends: after `beforeContext` and compression, without the system prompt. */
export function roundContext(run: TurnRun): Awaitable<RoundContext | Ended> {
  if (run.stages.has("beforeContext") || run.wiring.compressors.length > 0) return madeContext(run);
  return { messages: run.conversation.view(), plain: !run.conversation.hasCustom };
}

async function madeContext(run: TurnRun): Promise<RoundContext | Ended> {
  let messages: readonly AgentMessage[] | undefined;
  if (run.stages.has("beforeContext")) {
    const passed = await run.stages.forward({ kind: "beforeContext", messages: run.conversation.view() });
    const ended = endedBy(passed);
    if (ended !== undefined) return ended;
    messages = await givenContext(run, passed);
  }
  return { messages: await compressContext(run, messages, "before-model"), plain: false };
}

/** Puts the system prompt in front, projects, and asks `beforeModel`. Throws `ModelError("request-build")` for what fails on the way. */
export function prepareRequest(
  run: TurnRun,
  context: RoundContext,
  attempt: number,
): Awaitable<PreparedRequest | Ended> {
  const { system } = run.wiring.settings;
  if (system === undefined) return requestBehind([], run, context, attempt);
  return systemMessages(run, system, attempt).then((front) => requestBehind(front, run, context, attempt));
}

function requestBehind(
  front: readonly Message[],
  run: TurnRun,
  context: RoundContext,
  attempt: number,
): Awaitable<PreparedRequest | Ended> {
  const { toModelMessages } = run.wiring.settings;
  const conversation = projected(run, context, toModelMessages, attempt);
  const messages = front.length === 0 ? conversation : front.concat(conversation);
  if (messages.at(-1)?.role === "assistant") {
    throw new ModelError("request-build", "the request would end with the assistant");
  }
  const { options } = run.wiring.settings;
  const tools = run.offeredTools();
  if (!run.stages.has("beforeModel")) {
    checkNotEmpty(run, messages);
    return { messages, tools, options, requestContext: undefined, entered: 0 };
  }
  const passed = run.stages.forward<"beforeModel">({ kind: "beforeModel", messages, tools, options }, { attempt });
  return isThenable(passed) ? passed.then((asked) => requestAs(run, asked)) : requestAs(run, passed);
}

/** The request as hooks left it. */
function requestAs(run: TurnRun, passed: Passed<"beforeModel">): PreparedRequest | Ended {
  const ended = endedBy(passed);
  if (ended !== undefined) return ended;
  const { stage, entered, messagesBy } = passed;
  const given = messagesBy === undefined ? stage.messages : checkedRequest(stage.messages, messagesBy);
  checkNotEmpty(run, given);
  return {
    messages: given,
    tools: stage.tools,
    options: stage.options,
    requestContext: stage.requestContext,
    entered,
  };
}

/** Custom messages alone, or results without a call, leave nothing to send. */
function checkNotEmpty(run: TurnRun, messages: readonly Message[]): void {
  if (messages.some((message) => message.id !== `${run.turnId}.system`)) return;
  throw new ModelError("request-build", "the request would hold nothing to answer");
}

function checkedRequest(messages: readonly Message[], by: HookEntry): readonly Message[] {
  return withoutCustom(sendable(messages, undefined, { by, kind: "beforeModel" }));
}

async function systemMessages(
  run: TurnRun,
  system: NonNullable<Settings["system"]>,
  attempt: number,
): Promise<Message[]> {
  if (typeof system === "string") run.system = system;
  else {
    const { sessionId, turnId, round, signal } = run;
    const name = `system#${round}.${attempt - 1}`;
    const ask = async (): Promise<string> => run.within(() => system({ sessionId, turnId, round, signal }));
    const outcome = await run.scope.step(name, ask, { interruptible: true });
    if (!outcome.ok) throw buildError("the system prompt", outcome.error);
    if (typeof outcome.value !== "string") throw new ModelError("request-build", "the system prompt is no text");
    run.system = outcome.value;
  }
  if (run.system === "") return [];
  const content = [{ type: "text" as const, text: run.system }];
  return [adopt({ role: "system", content, id: `${run.turnId}.system`, at: run.now }, "system prompt")];
}

/** What the model may see of the conversation (C2). */
function projected(
  run: TurnRun,
  context: RoundContext,
  project: Settings["toModelMessages"],
  attempt: number,
): readonly Message[] {
  const { messages, plain } = context;
  if (project === undefined && plain) {
    // The list is handed on, so that a model may have changed it: each attempt gets one of its own.
    return (attempt === 1 ? messages : run.conversation.view()) as readonly Message[];
  }
  if (project === undefined) return withoutCustom(messages);
  try {
    return withoutCustom(project([...messages]).map(run.stamp));
  } catch (error) {
    throw buildError("toModelMessages", error);
  }
}

function buildError(what: string, error: unknown): unknown {
  if (Defect.is(error)) return error;
  return new ModelError("request-build", `${what} failed`, { cause: error });
}
