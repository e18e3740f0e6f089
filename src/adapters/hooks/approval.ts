import { CompositionError } from "../../domain/errors.js";
import { isJsonObject, type JsonObject, sameJson } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { isTimeLimit } from "../../domain/limits.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { StageOf } from "../../domain/stage.js";
import type { ToolCall, ToolDef } from "../../domain/tool.js";
import { toolHints, type ToolHints } from "../../domain/tool-hints.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { HookContext, PipelineHook } from "../../ports/hook.js";
import { defineHook, type MakersOf, type OutcomeOf } from "./define-hook.js";

/** A call of a tool that exists, with the arguments it would run with. */
export type ApprovalCall = { readonly call: ToolCall; readonly tool: ToolDef; readonly hints: ToolHints };

/** What whoever is asked gets. `signal` is aborted with the turn, and when nobody waits for the answer any more. */
export type ApprovalQuestion = ApprovalCall &
  Pick<HookContext, "sessionId" | "turnId" | "round"> & { readonly signal: AbortSignal };

/** `"defer"`: nobody can say now. Other arguments are validated again. */
export type ApprovalAnswer =
  | boolean
  | "defer"
  | { readonly approve: true; readonly arguments?: JsonObject | undefined }
  | { readonly approve: false; readonly reason: string };

/** Which calls need approval: those that any of `all`, `tools`, `hints` and `when` names; and how it is got. */
export type ApprovalOptions = {
  /** Every call. */
  readonly all?: true | undefined;
  /** Calls of tools of these names. */
  readonly tools?: readonly string[] | undefined;
  /**
   * What it means that the tools of a turn, as listed at its start, hold none of one of these names: `report` (the default) tells the names in an
   * `approval-unmatched` event, for tools that come and go; `refuse` asks no model then, for tools that are always there. A name with a slip in it
   * protects nothing.
   */
  readonly unmatched?: "report" | "refuse" | undefined;
  /** Calls of tools of which all of this may be true: `{ destructive: true }`. A tool of a provider that is not trusted may be anything bad. */
  readonly hints?: Partial<ToolHints> | undefined;
  /** Calls it answers true for. */
  readonly when?: ((question: ApprovalCall & { readonly context: HookContext }) => Awaitable<boolean>) | undefined;
  /** Asked at once, one call after the other. Absent: the call is deferred, and waits for a decision as long as it takes, in any process. */
  readonly ask?: ((question: ApprovalQuestion) => Awaitable<ApprovalAnswer>) | undefined;
  /** `DeferredCall.reason`; default "needs approval". */
  readonly reason?: string | undefined;
  /** Milliseconds that `when` and `ask` may take together; default without end where somebody is asked. The turn waits that long, and holds its session. */
  readonly timeoutMs?: number | undefined;
  /** Default "approval"; needed where an agent has two. */
  readonly name?: string | undefined;
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
};

const HINTS = ["readOnly", "destructive", "idempotent", "openWorld"] as const satisfies readonly (keyof ToolHints)[];
const FIELDS = [
  "all",
  "tools",
  "unmatched",
  "hints",
  "when",
  "ask",
  "reason",
  "timeoutMs",
  "name",
  "before",
  "after",
] as const;

/**
 * Lets no call that needs approval run without one (U5). A call is judged as the hooks before this one made it; hooks behind it may still
 * change it. A call that this hook had deferred, and about which somebody decided, passes. Where `when` or `ask` throws, takes too long,
 * or answers what is no answer, the call gets an error result and does not run. Throws `CompositionError("invalid-config")` for options
 * that name no call at all.
 */
export function approval(options: ApprovalOptions): PipelineHook {
  checkOptions(options);
  const { tools, ask, reason = "needs approval", name = "approval", before, after } = options;
  const { timeoutMs = ask === undefined ? undefined : Number.POSITIVE_INFINITY } = options;
  return defineHook(name, {
    before,
    after,
    timeoutMs,
    onFailure: { beforeTool: "error-result" },
    chooseTools: tools && ((stage, context) => checkNames(tools, options.unmatched, stage, context)),
    async beforeTool(stage, context) {
      const question = calledTool(stage, context);
      if (question === undefined || isDecided(name, question.call, context)) return undefined;
      if (!(await isNeeded(options, question, context))) return undefined;
      const answer = ask === undefined ? "defer" : await answered(ask, question, context);
      return answer === "defer" ? context.defer(reason) : outcomeOf(answer, question.call, context);
    },
  });
}

/** A tool that goes while the turn runs needs no approval any more; one that comes has it by its name. */
function checkNames(
  names: readonly string[],
  unmatched: ApprovalOptions["unmatched"],
  { reason, tools }: StageOf<"chooseTools">,
  context: HookContext & MakersOf<"chooseTools">,
): OutcomeOf<"chooseTools"> | undefined {
  if (reason !== "turn-start") return undefined;
  const missing = names.filter((name) => !tools.some((tool) => tool.name === name)).map((name) => safeLabel(name));
  if (missing.length === 0) return undefined;
  context.emit("approval-unmatched", { tools: missing });
  return unmatched === "refuse"
    ? context.abort(`approval is for tools that are not there: ${missing.join(", ")}`)
    : undefined;
}

/** What another hook deferred was decided for that one; and what a hook has changed since is not what was decided about. */
function isDecided(name: string, call: ToolCall, { decision, deferredBy, approvedCall }: HookContext): boolean {
  if (decision === undefined || deferredBy?.includes(name) !== true) return false;
  return approvedCall?.name === call.name && sameJson(approvedCall.arguments, call.arguments);
}

/** In a chain of hooks the tool may still be that of the name a call had before: then nothing good is believed of it. */
function calledTool({ call, tool, hints }: StageOf<"beforeTool">, context: HookContext): ApprovalCall | undefined {
  if (tool?.name === call.name && hints !== undefined) return { call, tool, hints };
  const renamed = context.tools.find((other) => other.name === call.name);
  return renamed && { call, tool: renamed, hints: toolHints(renamed, { trusted: false }) };
}

async function isNeeded(
  { all, tools = [], hints, when }: ApprovalOptions,
  question: ApprovalCall,
  context: HookContext,
): Promise<boolean> {
  if (all === true || tools.includes(question.tool.name)) return true;
  if (hints !== undefined && isLike(question.hints, hints)) return true;
  if (when === undefined) return false;
  const needed: unknown = await when({ ...question, context });
  if (typeof needed !== "boolean") throw new TypeError("when answers true or false");
  return needed;
}

function isLike(hints: ToolHints, wanted: Partial<ToolHints>): boolean {
  return HINTS.every((hint) => wanted[hint] === undefined || wanted[hint] === hints[hint]);
}

type Answer = "defer" | { readonly approve: true; readonly arguments?: JsonObject } | Rejection;
type Rejection = { readonly approve: false; readonly reason: string };

/** Recorded, so that nobody is asked twice. */
function answered(
  ask: NonNullable<ApprovalOptions["ask"]>,
  question: ApprovalCall,
  context: HookContext,
): Promise<Answer> {
  const { sessionId, turnId, round } = context;
  const over = new AbortController();
  context.onSettled(() => over.abort());
  const signal = AbortSignal.any([context.signal, over.signal]);
  return context.step("ask", async () => checkedAnswer(await ask({ ...question, sessionId, turnId, round, signal })));
}

function checkedAnswer(answer: unknown): Answer {
  if (answer === "defer") return answer;
  if (typeof answer === "boolean") return answer ? { approve: true } : { approve: false, reason: "" };
  if (isJsonObject(answer)) {
    const { approve, arguments: args, reason } = answer;
    if (approve === true && args === undefined) return { approve };
    if (approve === true && isJsonObject(args)) return { approve, arguments: args };
    if (approve === false && typeof reason === "string") return { approve, reason };
  }
  throw new TypeError("ask answers true, false, defer or a decision");
}

function outcomeOf(
  answer: Exclude<Answer, "defer">,
  { id, name }: ToolCall,
  context: MakersOf<"beforeTool">,
): OutcomeOf<"beforeTool"> | undefined {
  if (!answer.approve) return context.block(`The call was rejected${answer.reason === "" ? "" : `: ${answer.reason}`}`);
  return answer.arguments && context.next({ call: { id, name, arguments: answer.arguments } });
}

function checkOptions(options: ApprovalOptions): void {
  checkFields("approval", options, FIELDS);
  const { all, tools, unmatched, hints, when, ask, reason, name, timeoutMs } = options;
  if (hints !== undefined) checkFields("approval.hints", hints, HINTS);
  const hinted = Object.values(hints ?? {}).filter((hint) => hint !== undefined);
  const faults = [
    [all !== undefined && all !== true, "all is true or absent"],
    [tools !== undefined && !isTexts(tools), "tools is a list of names"],
    [unmatched !== undefined && tools === undefined, "unmatched is about the names in tools"],
    [!["report", "refuse"].includes(unmatched ?? "report"), 'unmatched is "report" or "refuse"'],
    [hinted.some((hint) => typeof hint !== "boolean"), "a hint is true or false"],
    [when !== undefined && typeof when !== "function", "when is a function"],
    [ask !== undefined && typeof ask !== "function", "ask is a function"],
    [timeoutMs !== undefined && !isTimeLimit(timeoutMs), "timeoutMs is a number above 0"],
    [[reason, name].some((text) => text !== undefined && typeof text !== "string"), "reason and name are texts"],
    [
      all === undefined && (tools ?? []).length + hinted.length === 0 && when === undefined,
      "it would ask for nothing: give tools, hints or when, or all: true",
    ],
  ] as const;
  const fault = faults.find(([wrong]) => wrong);
  if (fault !== undefined) throw new CompositionError("invalid-config", `approval: ${fault[1]}`);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string" && text !== "");
}
