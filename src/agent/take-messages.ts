import type { MessageInput } from "../domain/message.js";
import { type Turn, withEnding } from "../domain/turn.js";
import type { Awaitable } from "../ports/awaitable.js";
import { endedBy, withEnded } from "./ended-by-hook.js";
import { accept } from "./open-turn.js";
import type { Queue } from "./turn-inbox.js";
import type { TurnRun } from "./turn-run.js";

/** What came from outside, as recorded. */
export type Polled = { readonly toolsChanged: boolean; readonly messages: readonly MessageInput[] };

const NOTHING: Polled = Object.freeze({ toolsChanged: false, messages: [] });

/** Looks outside once a round; no step where nothing waits. Steering goes before follow-ups, which are asked for only where the turn would end (L3). */
export function poll(run: TurnRun, options: { readonly followUps: boolean }): Awaitable<Polled> {
  const { inbox } = run.control;
  const queue: Queue = options.followUps && inbox.waiting("steering") === 0 ? "followUps" : "steering";
  return toolsChanged(run) || inbox.waiting(queue) > 0 ? look(run, queue) : NOTHING;
}

function toolsChanged(run: TurnRun): boolean {
  return run.toolsVersion !== run.wiring.lister.version;
}

async function look(run: TurnRun, queue: Queue): Promise<Polled> {
  const { inbox } = run.control;
  const { steerMode, followUpMode } = run.wiring.settings;
  let taken: readonly MessageInput[] = [];
  const outcome = await run.scope.step(`poll#${run.round}`, async () => {
    taken = inbox.take(queue, queue === "steering" ? steerMode : followUpMode);
    return { toolsChanged: toolsChanged(run), messages: taken };
  });
  // A look that could not be told has still taken what it took; tools count as changed.
  return outcome.ok ? outcome.value : { toolsChanged: true, messages: taken };
}

/**
 * Stores messages that were taken as the hooks leave them, behind what is there; until then they count as undelivered. Those that a hook or the output
 * limits keep out stay so, and end the turn (L2).
 */
export async function takeMessages(run: TurnRun, turn: Turn, given: readonly MessageInput[]): Promise<Turn> {
  let messages = given.map(run.stamp);
  run.undelivered = messages;
  if (run.stages.has("beforeSteering")) {
    const passed = await run.stages.forward({ kind: "beforeSteering", input: given });
    const ended = endedBy(passed);
    if (ended !== undefined) return withEnded(turn, ended);
    if (passed.stage.input !== given) run.undelivered = messages = passed.stage.input.map(run.stamp);
  }
  const limit = run.output?.refusal(...messages);
  if (limit !== undefined) return withEnding(turn, { exceeded: { kind: "output-limit", limit } });
  // Whoever interrupted has been heard (L4).
  run.control.resume();
  await run.writer.add(messages, run.usageChange(turn));
  accept(run, messages);
  return turn;
}
