import { AgentError, Defect } from "../domain/errors.js";
import { type ToolMessage, toolCallsOf } from "../domain/message.js";
import { type DeferredCall, SESSION_KEYS } from "../domain/session.js";
import { errorResult, type ToolCall, type ToolOutcome, type ToolResult } from "../domain/tool.js";
import { NOT_EXECUTED, UNKNOWN_OUTCOME } from "../domain/transcript.js";
import { type Exceeded, type Turn, withEnding, withNoneOpen, withResults } from "../domain/turn.js";
import { asAgentError } from "./as-agent-error.js";
import { ALL_ENTERED, HookFailure } from "./stages.js";
import { type PlacedCall, type Preparation, type Runnable, wavesOf } from "./prepared-call.js";
import { prepareCall } from "./tool-preparation.js";
import { executionOf, notStartedText, toolStep } from "./tool-runner.js";
import { BatchSettler } from "./tool-settling.js";
import type { TurnRun } from "./turn-run.js";

/** Runs the calls of one reply; afterwards each has its exchange, waits for a decision, or is open because the batch broke off. */
export async function runTools(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  const placed = placedCalls(turn, calls);
  await batch.attempt(() => {
    if (turn.reply?.finishReason === "length") return batch.close(placed, OUTPUT_LIMIT);
    return run.wiring.settings.sequential ? batch.runOneByOne(placed) : batch.runInWaves(placed);
  });
  return batch.result(placed);
}

/** Gives open calls of a turn that ends an error result each. */
export async function closeCalls(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  await batch.attempt(() => batch.close(placedCalls(turn, calls), NOT_EXECUTED));
  return withNoneOpen(batch.ended());
}

const BUDGET_USED = "The tool call was not executed: the budget for tool calls is used up.";

const OUTPUT_LIMIT =
  "The output limit was hit while this call was written; it was not executed. Ask for less at a time.";

/** Each call with its position in the reply, by which it is known for ever. */
function placedCalls(turn: Turn, calls: readonly ToolCall[]): PlacedCall[] {
  if (turn.reply === undefined) return [];
  const { id } = turn.reply;
  const orders = new Map(toolCallsOf(turn.reply).map((call, order) => [call.id, order]));
  return calls.map((call) => {
    const order = orders.get(call.id) ?? 0;
    return { call, order, executionId: `${id}.${order}` };
  });
}

type Prepared = Exclude<Preparation, { type: "stop" | "abort" }>;

/** A call that never runs; without `entered` its `beforeTool` was skipped altogether (H1). */
type Closed = PlacedCall & { readonly entered?: number | undefined };

class ToolBatch {
  readonly #run: TurnRun;
  readonly #settler: BatchSettler;
  #turn: Turn;
  readonly #deferred: DeferredCall[] = [];
  #ran = 0;

  constructor(run: TurnRun, turn: Turn) {
    this.#run = run;
    this.#turn = turn;
    this.#settler = new BatchSettler(run, (message: ToolMessage) => {
      // With each result the call is counted too, so that a crash in mid-batch forgets none (A5).
      if (message.outcome !== "not-started") this.#ran += 1;
      return run.store([message], { ...turn, toolCalls: turn.toolCalls + this.#ran });
    });
  }

  /** What is thrown on the way ends the turn, and takes nothing from the calls that have ended (U4). */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (Defect.is(error)) throw error;
      this.#fail(asAgentError(error));
    }
  }

  /** The turn with everything that became of the batch. */
  result(placed: readonly PlacedCall[]): Turn {
    const exchanges = [...this.#settler.exchanges].sort((a, b) => a.sourceOrder - b.sourceOrder);
    const handled = new Set([...exchanges, ...this.#deferred].map(({ callId }) => callId));
    const open = placed.filter(({ call }) => !handled.has(call.id)).map(({ call }) => call);
    this.#turn = withResults(this.#turn, { exchanges, deferred: this.#deferred.length, open });
    return this.ended();
  }

  /** The turn with what its hooks asked for and what failed. */
  ended(): Turn {
    const { stopped, failure, exceeded } = this.#settler;
    if (failure !== undefined) this.#fail(new AgentError("runtime", "settling a tool call failed", { cause: failure }));
    if (exceeded !== undefined) this.#exceed({ kind: "output-limit", limit: exceeded });
    return stopped === undefined ? this.#turn : withEnding(this.#turn, { stopped });
  }

  async runInWaves(placed: readonly PlacedCall[]): Promise<void> {
    const prepared: Prepared[] = [];
    let rest: readonly Closed[] = [];
    for (const [index, call] of placed.entries()) {
      const preparation = this.#mayPrepare() ? await prepareCall(this.#run, call) : undefined;
      if (preparation?.type === "abort") {
        const asked = [...prepared, preparation];
        const closed = placed.map((each, order) => ({ ...each, entered: asked[order]?.entered }));
        return this.#abort(closed, preparation);
      }
      if (preparation === undefined || preparation.type === "stop") {
        rest = this.#stop(placed.slice(index), preparation);
        break;
      }
      prepared.push(preparation);
    }
    await this.#defer(prepared);
    for (const answered of prepared) if (answered.type === "answered") await this.#answer(answered);
    await this.close(rest, notStartedText(this.#run));
    for (const wave of wavesOf(prepared.filter((preparation) => preparation.type === "run"))) await this.#wave(wave);
  }

  async runOneByOne(placed: readonly PlacedCall[]): Promise<void> {
    for (const [index, call] of placed.entries()) {
      const preparation = this.#goesOn() ? await prepareCall(this.#run, call) : undefined;
      const rest = placed.slice(index);
      if (preparation?.type === "abort") {
        const [, ...later] = rest;
        return this.#abort([preparation, ...later], preparation);
      }
      if (preparation === undefined || preparation.type === "stop") {
        return this.close(this.#stop(rest, preparation), notStartedText(this.#run));
      }
      await this.#defer([preparation]);
      if (preparation.type === "answered") await this.#answer(preparation);
      if (preparation.type === "run") await this.#wave([preparation]);
    }
  }

  /** Settles calls that never run, all of them whatever fails; throws what failed first. */
  async close(closed: readonly Closed[], text: string): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (const { call, order, executionId, entered = ALL_ENTERED } of closed) {
      const execution = this.#closing(executionId, text);
      try {
        const settling = await this.#settler.settle({ call, order, executionId, execution, answered: false, entered });
        await settling.done;
      } catch (error) {
        if (Defect.is(error)) throw error;
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Of a call that a resumed turn found unanswered nobody knows whether it ran. */
  #closing(executionId: string, text: string): { readonly result: ToolResult; readonly outcome: ToolOutcome } {
    if (this.#run.resumed.get(executionId)?.type === "unanswered")
      return { result: errorResult(UNKNOWN_OUTCOME), outcome: "unknown" };
    return { result: errorResult(text), outcome: "not-started" };
  }

  #mayPrepare(): boolean {
    return !this.#run.signal.aborted && !this.#run.control.interrupted;
  }

  #goesOn(): boolean {
    return this.#turn.endings.stopped === undefined && !this.#heldBack();
  }

  #exceed(exceeded: Exceeded): void {
    this.#turn = withEnding(this.#turn, { exceeded });
  }

  #fail(error: AgentError): void {
    this.#turn = withEnding(this.#turn, { failed: { error } });
  }

  /** What is left when a hook stopped at the first of these calls, or nothing more may begin. */
  #stop(rest: readonly PlacedCall[], stop: Extract<Preparation, { type: "stop" }> | undefined): readonly Closed[] {
    if (stop === undefined) return rest;
    this.#turn = withEnding(this.#turn, { stopped: stop.reason });
    return [stop, ...rest.slice(1)];
  }

  async #abort(closed: readonly Closed[], abort: Extract<Preparation, { type: "abort" }>): Promise<void> {
    this.#turn = withEnding(this.#turn, { hookAborted: { reason: abort.reason, error: abort.error } });
    await this.close(closed, NOT_EXECUTED);
  }

  async #answer(preparation: Extract<Preparation, { type: "answered" }>): Promise<void> {
    const { result, error, answered, entered, call, order, executionId, outcome = "not-started" } = preparation;
    const execution = { result, outcome, error };
    const { done } = await this.#settler.settle({ call, order, executionId, execution, answered, entered });
    await done;
  }

  /** Records deferred calls before anything runs, so that no crash turns one into a lost call. */
  async #defer(prepared: readonly Prepared[]): Promise<void> {
    const run = this.#run;
    const fresh = prepared.filter((preparation) => preparation.type === "deferred");
    if (fresh.length === 0) return;
    for (const { call, executionId, reason, asked, by } of fresh) {
      const { name, arguments: args } = asked;
      const record = {
        callId: call.id,
        executionId,
        toolName: name,
        arguments: args,
        reason,
        at: run.now,
        ...(by && { by }),
      };
      this.#deferred.push(record);
      run.deferred.push(record);
    }
    await run.writer.add([], { metadata: { [SESSION_KEYS.deferred]: run.deferred.slice() } });
    for (const { call, reason } of fresh) run.bus.publish("toolCallDeferred", { call, reason });
  }

  async #wave(whole: readonly Runnable[]): Promise<void> {
    const run = this.#run;
    if (this.#heldBack() || !(await this.#admit(whole))) return this.close(whole, notStartedText(run));
    const { wave, limit } = this.#affordable(whole);
    if (limit !== undefined) await this.close(whole.slice(wave.length), BUDGET_USED);
    const steps = wave.map((runnable) => toolStep(run, runnable, this.#heldBack));
    await run.scope.all(
      steps,
      (index, outcome) => {
        const runnable = wave[index] as Runnable;
        const { call, order, executionId, entered } = runnable;
        const ended = { call, order, executionId, answered: false, entered };
        const execution = executionOf(outcome, steps[index]?.timeoutMs);
        if (execution.outcome !== "not-started") return this.#settler.settle({ ...ended, execution, runnable });
        run.budget.returnToolCall();
        return this.#settler.settle({ ...ended, execution: this.#closing(executionId, notStartedText(run)) });
      },
      { limit: run.wiring.settings.limits.maxParallelTools },
    );
    if (limit !== undefined) this.#exceed({ kind: "budget-exceeded", limit });
  }

  /** The calls of a wave that the budgets let through, in source order. */
  #affordable(wave: readonly Runnable[]): { readonly wave: readonly Runnable[]; readonly limit?: string } {
    for (let taken = 0; taken < wave.length; taken++) {
      const limit = this.#run.budget.takeToolCall();
      if (limit !== undefined) return { wave: wave.slice(0, taken), limit };
    }
    return { wave };
  }

  /** Calls that have not started stay so after an abort, a failure, or a stop in mid-batch. */
  readonly #heldBack = (): boolean => {
    const { stopped, failure, exceeded } = this.#settler;
    if (stopped !== undefined || failure !== undefined || exceeded !== undefined) return true;
    const { endings } = this.#turn;
    return !this.#mayPrepare() || endings.failed !== undefined || endings.exceeded !== undefined;
  };

  /** The last gate, in source order: a throw fails the turn, and nothing of the wave runs. */
  async #admit(wave: readonly Runnable[]): Promise<boolean> {
    const run = this.#run;
    if (!run.stages.has("admitTool")) return true;
    for (const { invocation, order } of wave) {
      try {
        await run.stages.forward({ kind: "admitTool", invocation }, { sourceOrder: order });
      } catch (error) {
        if (!(error instanceof HookFailure)) throw error;
        this.#fail(new AgentError("runtime", "a tool call was not admitted", { cause: error }));
        return false;
      }
    }
    return true;
  }
}
