import { AgentError } from "../domain/errors.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { StepScope } from "../ports/step-scope.js";
import type { AgentPorts } from "./agent-ports.js";
import { compose } from "./composition.js";
import { Conversation } from "./conversation.js";
import { invalidInput } from "./invalid-input.js";
import { InProcessScope } from "./in-process-scope.js";
import { busOf } from "./launch.js";
import { runTurn } from "./run-turn.js";
import { systemRuntime } from "./system-runtime.js";
import { unwatchTools, watchTools } from "./tool-watch.js";
import { budgetOf } from "./turn-budget.js";
import { limitTime } from "./turn-clock.js";
import { followSignal, TurnControl } from "./turn-control.js";
import { TurnRun } from "./turn-run.js";
import { UnstoredWriter } from "./unstored-writer.js";

/** What one turn without session or store is made of. */
export type LoopPorts = Omit<AgentPorts, "sessions" | "lifecycles" | "commands"> & {
  readonly signal?: AbortSignal | undefined;
  readonly stepScope?: StepScope | undefined;
};

const NO_COMMANDS: CommandAccess = {
  list: () => [],
  invoke: () => Promise.reject(new AgentError("runtime", "there are no commands in a loop")),
  run: () => Promise.resolve(undefined),
};

/** One turn over a conversation that the caller keeps: the same loop without session, store or lease. `messages` ends with what is to be answered; the result's `messages` are the new ones behind it. */
export async function runLoop(
  messages: readonly (AgentMessage | MessageInput)[],
  ports: LoopPorts,
): Promise<TurnResult> {
  const runtime = ports.runtime ?? systemRuntime();
  const wiring = compose(ports, runtime, NO_COMMANDS);
  const control = new TurnControl();
  const scope = ports.stepScope ?? new InProcessScope({ signal: control.signal, runtime });
  control.attach(scope);
  const turnId = runtime.newId();
  const sessionId = turnId;
  const bus = busOf(wiring, sessionId, turnId);
  const startedAt = runtime.now();
  const caller = wiring.calls.current();
  const alone = { sessions: undefined, caller, budget: budgetOf(wiring, caller) };
  const run = new TurnRun({ wiring, turnId, sessionId, startedAt, bus, scope, control, ...alone });
  run.conversation = conversationOf(sessionId, messages, startedAt);
  run.writer = new UnstoredWriter(run.conversation);
  const unfollow = ports.signal === undefined ? undefined : followSignal(control, ports.signal);
  const stopTimer = limitTime(run);
  try {
    watchTools(wiring);
    return await runTurn(run, { type: "input", messages: [] });
  } finally {
    stopTimer();
    unfollow?.();
    unwatchTools(wiring);
    scope.release?.();
  }
}

function conversationOf(id: string, messages: readonly (AgentMessage | MessageInput)[], at: number): Conversation {
  const conversation = new Conversation(id);
  try {
    conversation.push(
      messages.map((message, index) => stampMessage(message, `${id}.given.${index}`, at, `messages[${index}]`)),
    );
  } catch (error) {
    throw invalidInput(error);
  }
  const last = conversation.last();
  if (last === undefined || last.role === "assistant") {
    throw new AgentError("invalid-input", "the messages do not end with something to answer");
  }
  return conversation;
}
