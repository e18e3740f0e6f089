import { adopt, adoptOwn } from "../domain/adopt.js";
import type { ToolError } from "../domain/errors.js";
import { type ToolMessage, toolResultMessage } from "../domain/message.js";
import type { StageOf, StageOutcome } from "../domain/stage.js";
import { errorResult, type ToolExchange, type ToolResult } from "../domain/tool.js";
import { limitToolResult, normaliseToolReturn } from "../domain/tool-result.js";
import type { Settling } from "../ports/step-scope.js";
import type { OutputLimit } from "./output-meter.js";
import { afterOwn } from "./own-hooks.js";
import type { PlacedCall, Runnable } from "./prepared-call.js";
import type { HookFailure } from "./stages.js";
import type { Execution } from "./tool-runner.js";
import type { TurnRun } from "./turn-run.js";

/** A call that ended, in a wave or without one. */
export type EndedCall = PlacedCall & {
  readonly execution: Execution;
  readonly runnable?: Runnable | undefined;
  readonly answered: boolean;
  readonly entered: number;
};

/** Settles the calls of one batch as they end: after hooks, store, `settleTool`, event; the last two in the order of the first (U4). */
export class BatchSettler {
  readonly exchanges: ToolExchange[] = [];
  stopped: string | undefined;
  /** A `settleTool` hook threw: the result stays stored, the turn fails. */
  failure: HookFailure | undefined;
  /** A result was larger than the output limits allow; a short one stands in its place (L2). */
  exceeded: OutputLimit | undefined;
  readonly #run: TurnRun;
  readonly #store: (message: ToolMessage) => Promise<void>;
  #published: Promise<void> = Promise.resolve();

  constructor(run: TurnRun, store: (message: ToolMessage) => Promise<void>) {
    this.#run = run;
    this.#store = store;
  }

  /** Runs the after hooks and hands the result to the store; `done` settles when it is published. One call at a time. */
  async settle(ended: EndedCall): Promise<Settling> {
    const run = this.#run;
    run.now = Math.max(run.now, ended.execution.endedAt ?? run.now);
    const result = this.#limited(ended, await this.#afterHooks(ended));
    const { exchange, message } = this.#within(ended, result);
    this.exchanges.push(exchange);
    run.exchanges.push(exchange);
    const stored = this.#store(message);
    const before = this.#published;
    const done = this.#publish(before, stored, exchange, ended.entered);
    this.#published = done.catch(() => undefined);
    return { done };
  }

  /** A result beyond the output limits gives way to a short one: no call is left without a result. */
  #within(ended: EndedCall, result: ToolResult): { readonly exchange: ToolExchange; readonly message: ToolMessage } {
    const made = this.#made(ended, result);
    const limit = this.#run.output?.refusal(made.message);
    if (limit === undefined) return made;
    this.exceeded ??= limit;
    return this.#made(ended, adopt(errorResult("The result is withheld: the output limit is reached."), "tool result"));
  }

  #made(ended: EndedCall, result: ToolResult): { readonly exchange: ToolExchange; readonly message: ToolMessage } {
    const run = this.#run;
    const exchange = exchangeOf(run, ended, result);
    const body = toolResultMessage(exchange.call, result, exchange.outcome);
    return { exchange, message: adoptOwn({ ...body, id: run.nextMessageId(), at: run.now } as ToolMessage) };
  }

  /** Cut to `maxToolResultBytes` whoever made it (U3); what a tool returned was cut where its step ended. */
  #limited(ended: EndedCall, result: ToolResult): ToolResult {
    if (ended.runnable !== undefined && result === ended.execution.result) return adopt(result, "tool result");
    return adopt(limitToolResult(result, this.#run.wiring.settings.limits.maxToolResultBytes), "tool result");
  }

  async #publish(before: Promise<void>, stored: Promise<void>, exchange: ToolExchange, entered: number): Promise<void> {
    try {
      await stored;
    } finally {
      await before;
    }
    const run = this.#run;
    if (run.stages.has("settleTool")) {
      const note = (problem: HookFailure, stage: StageOf<"settleTool">): StageOf<"settleTool"> => {
        this.failure ??= problem;
        return stage;
      };
      await run.stages.reverse({ kind: "settleTool", exchange }, entered, (_, stage) => stage, note, {
        sourceOrder: exchange.sourceOrder,
      });
    }
    run.bus.publish("toolCallResult", { exchange, isError: exchange.result.isError });
  }

  async #afterHooks(ended: EndedCall): Promise<ToolResult> {
    const run = this.#run;
    let { result, error } = ended.execution;
    const { runnable } = ended;
    const own = runnable?.entry.provider.hooks !== undefined && ended.execution.outcome !== "not-started";
    if (own && error === undefined) ({ result, error } = await afterOwn(run, runnable, result));
    if (error !== undefined && run.stages.has("toolError")) result = await this.#toolError(ended, error, result);
    if (!run.stages.has("afterTool")) return result;
    const stage: StageOf<"afterTool"> = {
      kind: "afterTool",
      call: ended.call,
      result,
      ...(error === undefined ? undefined : { error }),
      ...(ended.answered ? { answered: true as const } : undefined),
    };
    const last = await run.stages.reverse<"afterTool">(stage, ended.entered, this.#patch, this.#failed, {
      sourceOrder: ended.order,
    });
    if (last.result === result) return result;
    return adopt(normaliseToolReturn(last.result), "tool result");
  }

  readonly #patch = (outcome: StageOutcome, stage: StageOf<"afterTool">): StageOf<"afterTool"> => {
    if (outcome.kind === "stop") this.stopped ??= outcome.reason;
    if (outcome.kind !== "patch") return stage;
    return { ...stage, result: adopt({ ...stage.result, ...outcome.patch }, "patched result") };
  };

  readonly #failed = (failure: HookFailure, stage: StageOf<"afterTool">): StageOf<"afterTool"> => {
    this.#run.stages.secondary("afterTool", failure);
    if (failure.entry.hook.onFailure?.afterTool !== "error-result") return stage;
    return { ...stage, result: adopt(errorResult(`The result is withheld: ${failure.message}.`), "tool result") };
  };

  async #toolError(ended: EndedCall, error: ToolError, result: ToolResult): Promise<ToolResult> {
    const run = this.#run;
    let answer: ToolResult | undefined;
    await run.stages.reverse(
      { kind: "toolError", call: ended.call, error },
      ended.entered,
      (outcome, stage) => {
        if (outcome.kind === "answer") answer ??= outcome.result;
        return stage;
      },
      (failure, stage) => {
        run.stages.secondary("toolError", failure);
        return stage;
      },
      { sourceOrder: ended.order },
    );
    if (answer === undefined) return result;
    return adopt(normaliseToolReturn(answer), "tool result");
  }
}

function exchangeOf(run: TurnRun, ended: EndedCall, result: ToolResult): ToolExchange {
  const { call, order, executionId, execution, runnable } = ended;
  const { outcome, startedAt, endedAt } = execution;
  const started = runnable !== undefined && outcome !== "not-started";
  const toolName = runnable?.invocation.toolName ?? call.name;
  return Object.freeze({
    executionId,
    sourceOrder: order,
    callId: call.id,
    toolName,
    originalInput: call.arguments,
    executionMode: run.shown.byName.get(toolName)?.def.executionMode ?? "parallel",
    call,
    outcome,
    cancellationRequested: started && (outcome === "unknown" || run.signal.aborted),
    result,
    ...(started ? { executedInput: runnable.invocation.executedInput } : undefined),
    ...(startedAt === undefined ? undefined : { startedAt }),
    ...(endedAt === undefined ? undefined : { endedAt }),
  });
}
