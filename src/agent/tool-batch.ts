import { AgentError, Defect } from "../domain/errors.js";
import type { ToolMessage } from "../domain/message.js";
import { NONE } from "../domain/none.js";
import { pendingRecord } from "../domain/deferred-calls.js";
import type { DeferredCall } from "../domain/session.js";
import { errorResult, type ToolCall, type ToolOutcome, type ToolResult } from "../domain/tool.js";
import { UNKNOWN_OUTCOME } from "../domain/transcript.js";
import { type Endings, type Turn, withEnding, withResults } from "../domain/turn.js";
import { asAgentError } from "./as-agent-error.js";
import type { Deferred, PlacedCall } from "./prepared-call.js";
import { ALL_ENTERED } from "./stages.js";
import { BatchSettler } from "./tool-settling.js";
import type { TurnRun } from "./turn-run.js";

/** A call that never runs; without `entered` its `beforeTool` was skipped altogether (H1). */
export type Closed = PlacedCall & { readonly entered?: number | undefined };

/** What the calls of one reply have come to so far, and whether more may begin. */
export class ToolBatch {
  readonly run: TurnRun;
  readonly settler: BatchSettler;
  #turn: Turn;
  #deferred: readonly DeferredCall[] = NONE;
  #ran = 0;

  constructor(run: TurnRun, turn: Turn) {
    this.run = run;
    this.#turn = turn;
    this.settler = new BatchSettler(run, (message: ToolMessage) => {
      // With each result the call is counted too, so that a crash in mid-batch forgets none (A5).
      if (message.outcome !== "not-started") this.#ran += 1;
      return run.store([message], { ...turn, toolCalls: turn.toolCalls + this.#ran });
    });
  }

  /** What was thrown on the way ends the turn, and takes nothing from the calls that have ended (U4). */
  broke(error: unknown): void {
    if (Defect.is(error)) throw error;
    this.fail(asAgentError(error));
  }

  /** The turn with everything that became of the batch. */
  result(placed: readonly PlacedCall[]): Turn {
    const exchanges = [...this.settler.exchanges].sort((a, b) => a.sourceOrder - b.sourceOrder);
    const whole = exchanges.length + this.#deferred.length === placed.length;
    const open = whole ? NONE : this.#leftOf(placed);
    this.#turn = withResults(this.#turn, { exchanges, deferred: this.#deferred.length, open });
    return this.ended();
  }

  /** Calls that the batch broke off before it came to them. */
  #leftOf(placed: readonly PlacedCall[]): readonly ToolCall[] {
    const handled = new Set([...this.settler.exchanges, ...this.#deferred].map(({ executionId }) => executionId));
    return placed.filter(({ executionId }) => !handled.has(executionId)).map(({ call }) => call);
  }

  /** The turn with what its hooks asked for and what failed. */
  ended(): Turn {
    const { stopped, failure, exceeded } = this.settler;
    if (failure !== undefined) this.fail(new AgentError("runtime", "settling a tool call failed", { cause: failure }));
    if (exceeded !== undefined) this.end({ exceeded: { kind: "output-limit", limit: exceeded } });
    return stopped === undefined ? this.#turn : withEnding(this.#turn, { stopped });
  }

  /** Records a wish to end the turn. */
  end(ending: Endings): void {
    this.#turn = withEnding(this.#turn, ending);
  }

  fail(error: AgentError): void {
    this.end({ failed: { error } });
  }

  /** Whether hooks may be asked about another call. */
  get mayPrepare(): boolean {
    return !this.run.signal.aborted && !this.run.control.interrupted;
  }

  /** The same where a stop in mid-batch counts too. */
  get goesOn(): boolean {
    return this.#turn.endings.stopped === undefined && !this.heldBack();
  }

  /** Calls that have not started stay so after an abort, a failure, or a stop in mid-batch. */
  readonly heldBack = (): boolean => {
    const { stopped, failure, exceeded } = this.settler;
    if (stopped !== undefined || failure !== undefined || exceeded !== undefined) return true;
    const { endings } = this.#turn;
    return !this.mayPrepare || endings.failed !== undefined || endings.exceeded !== undefined;
  };

  /** Settles calls that never run, all of them whatever fails; throws what failed first. */
  async close(closed: readonly Closed[], text: string): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (const { call, order, executionId, entered = ALL_ENTERED } of closed) {
      const execution = this.closing(executionId, text);
      try {
        const settling = await this.settler.settle({ call, order, executionId, execution, answered: false, entered });
        await settling.done;
      } catch (error) {
        if (Defect.is(error)) throw error;
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** What a call comes to that does not run. Of one that a resumed turn found unanswered nobody knows whether it ran. */
  closing(executionId: string, text: string): { readonly result: ToolResult; readonly outcome: ToolOutcome } {
    if (this.run.resumed.get(executionId)?.type === "unanswered")
      return { result: errorResult(UNKNOWN_OUTCOME), outcome: "unknown" };
    return { result: errorResult(text), outcome: "not-started" };
  }

  /** Records deferred calls before anything runs, so that no crash turns one into a lost call. */
  async defer(fresh: readonly Deferred[]): Promise<void> {
    const { run } = this;
    const records = fresh.map(({ call, executionId, reason, asked: { name: toolName, arguments: args } }) => ({
      callId: call.id,
      executionId,
      toolName,
      arguments: args,
      reason,
      at: run.now,
    }));
    this.#deferred = [...this.#deferred, ...records];
    run.deferred = [...run.deferred, ...records];
    const hooks = new Map(run.deferringHooks);
    for (const { executionId, by } of fresh) hooks.set(executionId, by);
    run.deferringHooks = hooks;
    await run.writer.add([], pendingRecord(run.deferred, run.deferringHooks));
    for (const { call, reason } of fresh) run.bus.publish("toolCallDeferred", { call, reason });
  }
}
