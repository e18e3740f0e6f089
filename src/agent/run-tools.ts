import { toolCallsOf } from "../domain/message.js";
import type { ToolCall } from "../domain/tool.js";
import { NOT_EXECUTED } from "../domain/transcript.js";
import { type Turn, withNoneOpen } from "../domain/turn.js";
import { isThenable } from "./observers.js";
import { type PlacedCall, type Preparation, wavesOf } from "./prepared-call.js";
import { type Closed, ToolBatch } from "./tool-batch.js";
import { prepareCall } from "./tool-preparation.js";
import { notStartedText } from "./tool-runner.js";
import { runWave } from "./tool-wave.js";
import type { TurnRun } from "./turn-run.js";

/** Runs the calls of one reply; afterwards each has its exchange, waits for a decision, or is open because the batch broke off. */
export async function runTools(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  const placed = placedCalls(run, turn, calls);
  try {
    if (turn.reply?.finishReason === "length") await batch.close(placed, OUTPUT_LIMIT);
    else await (run.wiring.settings.sequential ? runOneByOne(batch, placed) : runInWaves(batch, placed));
  } catch (error) {
    batch.broke(error);
  }
  return batch.result(placed);
}

/** Gives open calls of a turn that ends an error result each. */
export async function closeCalls(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): Promise<Turn> {
  const batch = new ToolBatch(run, turn);
  try {
    await batch.close(placedCalls(run, turn, calls), NOT_EXECUTED);
  } catch (error) {
    batch.broke(error);
  }
  return withNoneOpen(batch.ended());
}

const OUTPUT_LIMIT =
  "The output limit was hit while this call was written; it was not executed. Ask for less at a time.";

/** Each call with its position in the reply, by which it is known for ever. */
function placedCalls(run: TurnRun, turn: Turn, calls: readonly ToolCall[]): PlacedCall[] {
  const { reply } = turn;
  if (reply === undefined) return [];
  const all = toolCallsOf(reply);
  const placeOf = ({ id }: ToolCall): number => all.findLastIndex((one) => one.id === id);
  return calls.map((call, index) => {
    // Mostly all calls of the reply, in its order.
    const own = all[index]?.id === call.id ? index : placeOf(call);
    const order = run.resumedOrders.get(call) ?? Math.max(0, own);
    return { call, order, executionId: `${reply.id}.${order}` };
  });
}

/** Prepares every call, then runs those that may in waves (U2). */
async function runInWaves(batch: ToolBatch, placed: readonly PlacedCall[]): Promise<void> {
  const prepared: Preparation[] = [];
  let rest: readonly Closed[] = [];
  for (const [index, call] of placed.entries()) {
    const preparing = batch.mayPrepare ? prepareCall(batch.run, call) : undefined;
    const preparation = isThenable(preparing) ? await preparing : preparing;
    if (preparation?.type === "abort") {
      const asked = [...prepared, preparation];
      const closed = placed.map((each, order) => ({ ...each, entered: asked[order]?.entered }));
      return abort(batch, closed, preparation);
    }
    if (preparation === undefined || preparation.type === "stop") {
      rest = stop(batch, placed.slice(index), preparation);
      break;
    }
    prepared.push(preparation);
  }
  const deferred = prepared.filter((preparation) => preparation.type === "deferred");
  if (deferred.length > 0) await batch.defer(deferred);
  for (const answered of prepared) if (answered.type === "answered") await answer(batch, answered);
  if (rest.length > 0) await batch.close(rest, notStartedText(batch.run));
  for (const wave of wavesOf(prepared.filter((preparation) => preparation.type === "run"))) await runWave(batch, wave);
}

/** Prepares, runs and settles each call before the next is looked at. */
async function runOneByOne(batch: ToolBatch, placed: readonly PlacedCall[]): Promise<void> {
  for (const [index, call] of placed.entries()) {
    const preparation = batch.goesOn ? await prepareCall(batch.run, call) : undefined;
    const rest = placed.slice(index);
    if (preparation?.type === "abort") return abort(batch, [preparation, ...rest.slice(1)], preparation);
    if (preparation === undefined || preparation.type === "stop") {
      return batch.close(stop(batch, rest, preparation), notStartedText(batch.run));
    }
    if (preparation.type === "deferred") await batch.defer([preparation]);
    if (preparation.type === "answered") await answer(batch, preparation);
    if (preparation.type === "run") await runWave(batch, [preparation]);
  }
}

/** What is left when a hook stopped at the first of these calls, or nothing more may begin. */
function stop(
  batch: ToolBatch,
  rest: readonly PlacedCall[],
  preparation: Extract<Preparation, { type: "stop" }> | undefined,
): readonly Closed[] {
  if (preparation === undefined) return rest;
  batch.end({ stopped: preparation.reason });
  return [preparation, ...rest.slice(1)];
}

async function abort(
  batch: ToolBatch,
  closed: readonly Closed[],
  { reason, error }: Extract<Preparation, { type: "abort" }>,
): Promise<void> {
  batch.end({ hookAborted: { reason, error } });
  await batch.close(closed, NOT_EXECUTED);
}

async function answer(batch: ToolBatch, preparation: Extract<Preparation, { type: "answered" }>): Promise<void> {
  const { result, error, answered, entered, call, order, executionId, outcome = "not-started" } = preparation;
  const execution = { result, outcome, error };
  const { done } = await batch.settler.settle({ call, order, executionId, execution, answered, entered });
  await done;
}
