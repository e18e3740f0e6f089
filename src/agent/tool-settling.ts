import { adopt, adoptOwn } from "../domain/adopt.js";
import type { ToolError } from "../domain/errors.js";
import { type ToolMessage, toolResultMessage } from "../domain/message.js";
import type { StageOf, StageOutcome } from "../domain/stage.js";
import { errorResult, type ToolExchange, type ToolResult } from "../domain/tool.js";
import { limitToolResult, normaliseToolReturn } from "../domain/tool-result.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { Settling } from "../ports/step-scope.js";
import { isThenable } from "./observers.js";
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
    const judged = this.#afterHooks(ended);
    const result = this.#limited(ended, isThenable(judged) ? await judged : judged);
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

  #afterHooks(ended: EndedCall): Awaitable<ToolResult> {
    const { result, error, outcome } = ended.execution;
    const { runnable } = ended;
    if (error !== undefined) return this.#afterError(ended, error, result);
    if (runnable?.entry.provider.hooks === undefined || outcome === "not-started")
      return this.#afterTool(ended, result, undefined);
    return afterOwn(this.#run, runnable, result).then((own) =>
      own.error === undefined
        ? this.#afterTool(ended, own.result, undefined)
        : this.#afterError(ended, own.error, own.result),
    );
  }

  #afterError(ended: EndedCall, error: ToolError, result: ToolResult): Awaitable<ToolResult> {
    if (!this.#run.stages.has("toolError")) return this.#afterTool(ended, result, error);
    return this.#toolError(ended, error, result).then((judged) => this.#afterTool(ended, judged, error));
  }

  #afterTool(ended: EndedCall, result: ToolResult, error: ToolError | undefined): Awaitable<ToolResult> {
    const run = this.#run;
    if (!run.stages.has("afterTool")) return result;
    const stage: StageOf<"afterTool"> = {
      kind: "afterTool",
      call: ended.call,
      result,
      ...(error === undefined ? undefined : { error }),
      ...(ended.answered ? { answered: true as const } : undefined),
    };
    const extras = { sourceOrder: ended.order };
    const judged = run.stages.reverse<"afterTool">(stage, ended.entered, this.#patch, this.#failed, extras);
    const decided = (last: StageOf<"afterTool">): ToolResult =>
      last.result === result ? result : adopt(normaliseToolReturn(last.result), "tool result");
    return isThenable(judged) ? judged.then(decided) : decided(judged);
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
