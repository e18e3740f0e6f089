import { AgentError } from "../domain/errors.js";
import type { ToolMessage } from "../domain/message.js";
import { type DeferredCall, SESSION_KEYS } from "../domain/session.js";
import { errorResult, type ToolCall } from "../domain/tool.js";
import { NOT_EXECUTED } from "../domain/transcript.js";
import { type Turn, withEnding, withResults } from "../domain/turn.js";
import { ALL_ENTERED, HookFailure } from "./stages.js";
import { type PlacedCall, type Preparation, prepareCall, type Runnable } from "./tool-preparation.js";
import { executionOf, toolStep } from "./tool-runner.js";
import { BatchSettler } from "./tool-settling.js";
import type { TurnRun } from "./turn-run.js";

/** Runs the calls of one reply; afterwards each has its exchange, or waits for a decision. */
export async function runTools(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  const placed = calls.map((call, order) => placedCall(turn, call, order));
  if (turn.reply?.finishReason === "length") await batch.close(placed, OUTPUT_LIMIT);
  else if (run.wiring.settings.sequential) await batch.runOneByOne(placed);
  else await batch.runInWaves(placed);
  return batch.result();
}

/** Gives open calls of a turn that ends an error result each. */
export async function closeCalls(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  await batch.close(
    calls.map((call, order) => placedCall(turn, call, order)),
    NOT_EXECUTED,
  );
  return batch.result();
}

const OUTPUT_LIMIT =
  "The output limit was hit while this call was written; it was not executed. Ask for less at a time.";

function placedCall(turn: Turn, call: ToolCall, order: number): PlacedCall {
  return { call, order, executionId: `${turn.reply?.id ?? ""}.${order}` };
}

/** Stands for a failure that is recorded already. */
const REFUSED = new AgentError("runtime", "an earlier call of the batch failed the turn");

class ToolBatch {
  readonly #run: TurnRun;
  readonly #settler: BatchSettler;
  #turn: Turn;
  readonly #deferred: DeferredCall[] = [];

  constructor(run: TurnRun, turn: Turn) {
    this.#run = run;
    this.#turn = turn;
    this.#settler = new BatchSettler(run, (message: ToolMessage) => run.store([message], turn));
  }

  /** The turn with everything that became of the batch. */
  result(): Turn {
    const exchanges = [...this.#settler.exchanges].sort((a, b) => a.sourceOrder - b.sourceOrder);
    const { stopped, failure } = this.#settler;
    let turn = withResults(this.#turn, exchanges, this.#deferred.length);
    if (stopped !== undefined) turn = withEnding(turn, { stopped });
    if (failure === undefined) return turn;
    return withEnding(turn, {
      failed: { error: new AgentError("runtime", "settling a tool call failed", { cause: failure }) },
    });
  }

  async runInWaves(placed: readonly PlacedCall[]): Promise<void> {
    const prepared: Exclude<Preparation, { type: "stop" | "abort" }>[] = [];
    let rest: readonly PlacedCall[] = [];
    for (const [index, call] of placed.entries()) {
      const preparation = await prepareCall(this.#run, call);
      if (preparation.type === "abort") return this.#abort(placed, preparation);
      if (preparation.type === "stop") {
        this.#turn = withEnding(this.#turn, { stopped: preparation.reason });
        rest = placed.slice(index);
        break;
      }
      prepared.push(preparation);
    }
    await this.#defer(prepared);
    for (const answered of prepared) if (answered.type === "answered") await this.#answer(answered);
    await this.close(rest, NOT_EXECUTED);
    for (const wave of wavesOf(prepared.filter((preparation) => preparation.type === "run"))) await this.#wave(wave);
  }

  async runOneByOne(placed: readonly PlacedCall[]): Promise<void> {
    for (const [index, call] of placed.entries()) {
      const preparation = this.#goesOn() ? await prepareCall(this.#run, call) : undefined;
      if (preparation === undefined) return this.close(placed.slice(index), NOT_EXECUTED);
      if (preparation.type === "abort") return this.#abort(placed.slice(index), preparation);
      if (preparation.type === "stop") {
        this.#turn = withEnding(this.#turn, { stopped: preparation.reason });
        return this.close(placed.slice(index), NOT_EXECUTED);
      }
      await this.#defer([preparation]);
      if (preparation.type === "answered") await this.#answer(preparation);
      if (preparation.type === "run") await this.#wave([preparation]);
    }
  }

  /** Settles calls that never run. */
  async close(placed: readonly PlacedCall[], text: string): Promise<void> {
    for (const call of placed) {
      const execution = { result: errorResult(text), outcome: "not-started" as const };
      const { done } = await this.#settler.settle({ ...call, execution, answered: false, entered: ALL_ENTERED });
      await done;
    }
  }

  #goesOn(): boolean {
    return !this.#run.signal.aborted && this.#turn.endings.stopped === undefined && this.#settler.stopped === undefined;
  }

  async #abort(placed: readonly PlacedCall[], abort: Extract<Preparation, { type: "abort" }>): Promise<void> {
    this.#turn = withEnding(this.#turn, { hookAborted: { reason: abort.reason, error: abort.error } });
    await this.close(placed, NOT_EXECUTED);
  }

  async #answer(preparation: Extract<Preparation, { type: "answered" }>): Promise<void> {
    const { result, error, answered, entered, call, order, executionId } = preparation;
    const execution = { result, outcome: "not-started" as const, error };
    const { done } = await this.#settler.settle({ call, order, executionId, execution, answered, entered });
    await done;
  }

  /** Records deferred calls before anything runs, so that no crash turns one into a lost call. */
  async #defer(prepared: readonly Exclude<Preparation, { type: "stop" | "abort" }>[]): Promise<void> {
    const run = this.#run;
    const fresh = prepared.filter((preparation) => preparation.type === "deferred");
    if (fresh.length === 0) return;
    for (const { call, executionId, reason, arguments: args } of fresh) {
      const record = { callId: call.id, executionId, toolName: call.name, arguments: args, reason, at: run.now };
      this.#deferred.push(record);
      run.deferred.push(record);
    }
    await run.writer.add([], { metadata: { [SESSION_KEYS.deferred]: run.deferred.slice() } });
    for (const { call, reason } of fresh) run.bus.publish("toolCallDeferred", { call, reason });
  }

  async #wave(wave: readonly Runnable[]): Promise<void> {
    const run = this.#run;
    if (run.signal.aborted) return this.close(wave, NOT_EXECUTED);
    const refusal = await this.#admit(wave);
    if (refusal !== undefined) {
      this.#turn = withEnding(this.#turn, { failed: { error: refusal } });
      return this.close(wave, NOT_EXECUTED);
    }
    const steps = wave.map((runnable) => toolStep(run, runnable));
    await run.scope.all(
      steps,
      (index, outcome) => {
        const runnable = wave[index] as Runnable;
        const { call, order, executionId, entered } = runnable;
        const execution = executionOf(outcome);
        return this.#settler.settle({ call, order, executionId, execution, runnable, answered: false, entered });
      },
      { limit: run.wiring.settings.limits.maxParallelTools },
    );
  }

  /** The last gate, in source order: a throw fails the turn, and nothing of the wave runs. An earlier refusal keeps later waves back too. */
  async #admit(wave: readonly Runnable[]): Promise<AgentError | undefined> {
    const run = this.#run;
    if (this.#turn.endings.failed !== undefined || this.#settler.failure !== undefined) return REFUSED;
    if (!run.stages.has("admitTool")) return undefined;
    for (const { invocation, order } of wave) {
      try {
        await run.stages.forward({ kind: "admitTool", invocation }, { sourceOrder: order });
      } catch (error) {
        if (!(error instanceof HookFailure)) throw error;
        return new AgentError("runtime", "a tool call was not admitted", { cause: error });
      }
    }
    return undefined;
  }
}

/** Neighbouring parallel calls together, a sequential one alone (U2). */
function wavesOf(runnables: readonly Runnable[]): Runnable[][] {
  const waves: Runnable[][] = [];
  let open: Runnable[] | undefined;
  for (const runnable of runnables) {
    const alone = runnable.invocation.executionMode === "sequential";
    if (open === undefined || alone) waves.push((open = []));
    open.push(runnable);
    if (alone) open = undefined;
  }
  return waves;
}
