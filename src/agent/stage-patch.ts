import { adopt } from "../domain/adopt.js";
import { isJsonObject } from "../domain/json.js";
import { decodeResponse } from "../domain/model-response.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { Stage, StageKind, StageOf, StagePatches } from "../domain/stage.js";
import type { HookTurn } from "./stage-context.js";
import { checkedInput } from "./turn-input.js";

/** A stage whose lists the hook may change without harm to anyone. */
export function copyStage(stage: Stage): Stage {
  switch (stage.kind) {
    case "beforeTurn":
    case "beforeSteering":
      return { ...stage, input: [...stage.input] };
    case "chooseTools":
      return { ...stage, tools: [...stage.tools] };
    case "beforeContext":
      return withOwnMessages(stage, stage.messages);
    case "beforeModel":
      return withOwnMessages({ ...stage, tools: [...stage.tools] }, stage.messages);
    case "afterTurn":
      return { ...stage, result: ownLists(stage.result) };
    case "beforeContinue":
    case "beforeEnd":
      return { ...stage, exchanges: [...stage.exchanges] };
    default:
      return { ...stage };
  }
}

/** A long list is copied only for a hook that reads it. */
function withOwnMessages<S extends Stage, M>(stage: S, messages: readonly M[]): S {
  let own: M[] | undefined;
  return {
    ...stage,
    get messages() {
      own ??= [...messages];
      return own;
    },
  };
}

/** The stage with a hook's patch, everything in it copied and frozen. Throws a TypeError for what JSON cannot hold or the stage does not have. */
export function applyPatch<K extends StageKind>(
  stage: StageOf<K>,
  patch: unknown,
  turn: Pick<HookTurn, "stamp" | "toolOf">,
): StageOf<K> {
  if (!isJsonObject(patch)) throw new TypeError(`next at ${stage.kind} needs a patch`);
  return { ...stage, ...patchOf(stage as Stage, patch as never, turn) };
}

const NO_TOOL = { tool: undefined, hints: undefined };

function patchOf(stage: Stage, patch: never, { stamp, toolOf }: Pick<HookTurn, "stamp" | "toolOf">): Partial<Stage> {
  switch (stage.kind) {
    case "beforeTurn": {
      const { input }: StagePatches["beforeTurn"] = patch;
      return input === undefined ? {} : { input: patchedInput(input, stage.input) };
    }
    case "beforeSteering": {
      const { input }: StagePatches["beforeSteering"] = patch;
      return input === undefined ? {} : { input: checkedInput(input, "beforeSteering.input") };
    }
    case "chooseTools": {
      const { tools }: StagePatches["chooseTools"] = patch;
      return tools === undefined ? {} : { tools: tools.map((tool, i) => adopt(tool, `chooseTools.tools[${i}]`)) };
    }
    case "beforeContext": {
      const { messages, persist }: StagePatches["beforeContext"] = patch;
      return {
        ...(messages === undefined ? undefined : { messages: messages.map(stamp) }),
        ...(persist === true ? { persist } : undefined),
      };
    }
    case "beforeModel":
      return modelPatch(patch, stamp);
    case "afterModel": {
      const { response }: StagePatches["afterModel"] = patch;
      return response === undefined ? {} : { response: decodeResponse(response, "afterModel.response") };
    }
    case "beforeTool": {
      const { call }: StagePatches["beforeTool"] = patch;
      if (call === undefined) return {};
      if (call.id !== stage.call.id) throw new TypeError("a hook may not change the id of a call");
      if (typeof call.name !== "string") throw new TypeError("beforeTool.call.name is no text");
      // A call that was renamed is one of another tool.
      return { call: adopt(call, "beforeTool.call"), ...NO_TOOL, ...toolOf(call.name) };
    }
    case "afterTool": {
      const { result }: StagePatches["afterTool"] = patch;
      return result === undefined ? {} : { result: adopt(result, "afterTool.result") };
    }
    default:
      throw new TypeError(`${stage.kind} has nothing to patch`);
  }
}

function modelPatch(
  patch: StagePatches["beforeModel"],
  stamp: (message: AgentMessage | MessageInput) => AgentMessage,
): Partial<StageOf<"beforeModel">> {
  const { messages, tools, options, requestContext } = patch;
  return {
    ...(messages === undefined ? undefined : { messages: messages.map(stamp) as StageOf<"beforeModel">["messages"] }),
    ...(tools === undefined ? undefined : { tools: tools.map((tool, i) => adopt(tool, `beforeModel.tools[${i}]`)) }),
    ...(options === undefined ? undefined : { options: adopt(options, "beforeModel.options") }),
    ...(requestContext === undefined
      ? undefined
      : { requestContext: adopt(requestContext, "beforeModel.requestContext") }),
  };
}

/** A result whose lists belong to the reader. */
function ownLists(result: TurnResult): TurnResult {
  const { messages, toolResults, exchanges, deferred, undelivered } = result;
  return {
    ...result,
    messages: [...messages],
    toolResults: [...toolResults],
    exchanges: [...exchanges],
    deferred: [...deferred],
    undelivered: [...undelivered],
  };
}

/** What a hook gives a turn obeys the same rules as the caller's own; a turn that was given nothing may go on with nothing. */
function patchedInput(given: readonly MessageInput[], own: readonly MessageInput[]): readonly MessageInput[] {
  return own.length === 0 && given.length === 0 ? own : checkedInput(given, "beforeTurn.input");
}
