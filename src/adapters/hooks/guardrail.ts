import { CompositionError } from "../../domain/errors.js";
import { isJsonObject, type JsonObject } from "../../domain/json.js";
import { checkValues, FUNCTION } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import { isTimeLimit } from "../../domain/limits.js";
import { textOf } from "../../domain/message.js";
import type { StageOf } from "../../domain/stage.js";
import { errorResult, type ToolCall } from "../../domain/tool.js";
import type { HookContext, PipelineHook } from "../../ports/hook.js";
import { defineHook, type MakersOf, type OutcomeOf } from "./define-hook.js";
import { type Check, Guard, unchecked } from "./guard.js";
import { blockedResponse, responseText, resultText, withResponseText, withText } from "./guarded-text.js";

export type { Check, CheckContext, Verdict } from "./guard.js";

/** What is checked, and how; at least one check. */
export type GuardrailOptions = {
  /**
   * The text of what the user says, at first and while the turn runs, before it is stored; `block` rejects the turn with `hook-aborted`. What other
   * hooks add in the user's name is checked before the model sees it, and stored by then.
   */
  readonly input?: Check<string, string> | undefined;
  /** The text of a reply. What is blocked or replaced is stored nowhere, but may have been streamed: with `streaming: false` nothing is seen before. */
  readonly output?: Check<string, string> | undefined;
  /** A call that is about to run; `replace` gives other arguments. What is blocked is an error result for the model. */
  readonly toolCall?: Check<ToolCall, JsonObject> | undefined;
  /** The text of a result, with the call it answers. What is blocked is withheld from model and store. */
  readonly toolResult?: Check<{ readonly call: ToolCall; readonly text: string }, string> | undefined;
  /** Milliseconds a check may take; default 5,000. */
  readonly timeoutMs?: number | undefined;
  /** What a check that failed means; default "block". */
  readonly onFailure?: "block" | "pass" | undefined;
  /** Default "guardrail". */
  readonly name?: string | undefined;
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
};

const CHECK_MS = 5_000;
/** Several things may be checked at one stage. */
const STAGE_MS = 60_000;

/**
 * Checks of the application's own on what goes into a turn and comes out of it. They fail closed: what could not be checked is blocked.
 * What is not let pass is told in a `guardrail` event, with the reason and without the content. Throws
 * `CompositionError("invalid-config")` for options without a check.
 */
export function guardrail(options: GuardrailOptions): PipelineHook {
  checkOptions(options);
  const { name = "guardrail", before, after, timeoutMs = CHECK_MS, onFailure = "block" } = options;
  const { input, output, toolCall, toolResult } = options;
  const guard = new Guard(timeoutMs, onFailure);
  const said = input && new SaidInTurn(guard, input);
  return defineHook(name, {
    before,
    after,
    timeoutMs: timeoutMs + STAGE_MS,
    onFailure: { afterModel: "withhold", beforeTool: "error-result", afterTool: "error-result" },
    beforeTurn: said && ((stage, context) => said.begin(stage, context)),
    beforeSteering: said && ((stage, context) => said.add(stage, context)),
    beforeModel: said && ((stage, context) => said.go(stage, context)),
    afterModel: output && ((stage, context) => judgeReply(guard, output, stage, context)),
    beforeTool: toolCall && ((stage, context) => judgeCall(guard, toolCall, stage, context)),
    afterTool: toolResult && ((stage, context) => judgeResult(guard, toolResult, stage, context)),
  });
}

/**
 * What was made of each message of a turn by its id, and the texts that passed before they had one. What another hook made of them stands
 * beside them: only what has such a text counts as judged.
 */
type Judgements = { readonly begun: string[]; readonly texts: Map<string, string | undefined> };

/** What the user says, at the beginning and later; each message is judged once a turn. */
class SaidInTurn {
  readonly #guard: Guard;
  readonly #check: Check<string, string>;
  readonly #turns = new WeakMap<AbortSignal, Judgements>();

  constructor(guard: Guard, check: Check<string, string>) {
    this.#guard = guard;
    this.#check = check;
  }

  async begin(
    stage: StageOf<"beforeTurn">,
    context: HookContext & MakersOf<"beforeTurn">,
  ): Promise<OutcomeOf<"beforeTurn">> {
    this.#turns.set(context.signal, { begun: [], texts: new Map() });
    return this.add(stage, context);
  }

  /** What passes is known at the first request, when its messages have ids. */
  async add(
    { input }: StageOf<"beforeTurn" | "beforeSteering">,
    context: HookContext & MakersOf<"beforeTurn" | "beforeSteering">,
  ): Promise<OutcomeOf<"beforeTurn">> {
    const passed: (typeof input)[number][] = [];
    for (const [index, message] of input.entries()) {
      const action = await this.#judge(`input.${index}`, textOf(message), context);
      if (action.type === "block") return context.abort(action.reason);
      if (action.type === "stop") return context.stop(action.reason);
      passed.push(action.type === "replace" ? withText(message, action.value) : message);
    }
    this.#turnOf(context).begun.push(...passed.map(textOf));
    return context.next({ input: passed });
  }

  async go(
    stage: StageOf<"beforeModel">,
    context: HookContext & MakersOf<"beforeModel">,
  ): Promise<OutcomeOf<"beforeModel"> | undefined> {
    const turn = this.#turnOf(context);
    for (const message of context.newMessages) {
      if (message.role !== "user" || turn.texts.has(message.id)) continue;
      const text = textOf(message);
      const known = turn.begun.indexOf(text);
      if (known >= 0) turn.begun.splice(known, 1);
      const action = known >= 0 ? ({ type: "pass" } as const) : await this.#judge(`said.${message.id}`, text, context);
      if (action.type === "block") return context.abort(action.reason);
      if (action.type === "stop") return context.stop(action.reason);
      turn.texts.set(message.id, action.type === "replace" ? action.value : undefined);
    }
    if (![...turn.texts.values()].some((text) => text !== undefined)) return undefined;
    return context.next({
      messages: stage.messages.map((message) => {
        const text = turn.texts.get(message.id);
        return text === undefined ? message : withText(message, text);
      }),
    });
  }

  #turnOf({ signal }: HookContext): Judgements {
    const turn = this.#turns.get(signal) ?? { begun: [], texts: new Map() };
    this.#turns.set(signal, turn);
    return turn;
  }

  #judge(name: string, subject: string, context: HookContext) {
    return this.#guard.judge(context, { name, check: this.#check, subject, isValue: isText });
  }
}

async function judgeReply(
  guard: Guard,
  check: Check<string, string>,
  { response, stopped }: StageOf<"afterModel">,
  context: HookContext & MakersOf<"afterModel">,
): Promise<OutcomeOf<"afterModel"> | undefined> {
  const subject = responseText(response);
  if (subject === "") return undefined;
  // A throw here would be told and the reply kept: one whose check an abort cut short was not checked.
  const judged = { name: "output", check, subject, isValue: isText, late: stopped === "aborted" };
  const action = await guard.judge(context, judged).catch(unchecked);
  if (action.type === "pass") return undefined;
  if (action.type === "replace") return context.next({ response: withResponseText(response, action.value) });
  const patch = { response: blockedResponse(response, action.reason) };
  return action.type === "stop" ? { kind: "stop", reason: action.reason, patch } : context.next(patch);
}

async function judgeCall(
  guard: Guard,
  check: Check<ToolCall, JsonObject>,
  { call }: StageOf<"beforeTool">,
  context: HookContext & MakersOf<"beforeTool">,
): Promise<OutcomeOf<"beforeTool"> | undefined> {
  const action = await guard.judge(context, { name: "call", check, subject: call, isValue: isJsonObject });
  if (action.type === "pass") return undefined;
  if (action.type === "block") return context.block(`The call was blocked: ${action.reason}`);
  if (action.type !== "replace") return context.stop(action.reason);
  return context.next({ call: { id: call.id, name: call.name, arguments: action.value } });
}

async function judgeResult(
  guard: Guard,
  check: NonNullable<GuardrailOptions["toolResult"]>,
  { call, result }: StageOf<"afterTool">,
  context: HookContext & MakersOf<"afterTool">,
): Promise<OutcomeOf<"afterTool"> | undefined> {
  const subject = { call, text: resultText(result) };
  const action = await guard.judge(context, { name: "result", check, subject, isValue: isText });
  if (action.type === "pass") return undefined;
  if (action.type === "replace") {
    return context.next({ result: { content: [{ type: "text", text: action.value }], isError: result.isError } });
  }
  const patch = { result: errorResult(`The result was withheld: ${action.reason}`) };
  return action.type === "stop" ? { kind: "stop", reason: action.reason, patch } : context.next(patch);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

const CHECKS = ["input", "output", "toolCall", "toolResult"] as const;

function checkOptions(options: GuardrailOptions): void {
  checkFields("guardrail", options, [...CHECKS, "timeoutMs", "onFailure", "name", "before", "after"]);
  const { timeoutMs = CHECK_MS, onFailure = "block", name = "guardrail" } = options;
  checkValues("guardrail", options, Object.fromEntries(CHECKS.map((key) => [key, FUNCTION])));
  const faults = [
    [CHECKS.every((key) => options[key] === undefined), `it would check nothing: give ${CHECKS.join(", ")}`],
    [!isTimeLimit(timeoutMs) || timeoutMs >= 2 ** 31, "timeoutMs is a number of milliseconds"],
    [!["block", "pass"].includes(onFailure), 'onFailure is "block" or "pass"'],
    [typeof name !== "string" || name === "", "name is a text"],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `guardrail: ${fault[1]}`);
}
