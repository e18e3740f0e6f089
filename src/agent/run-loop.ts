import { AgentError } from "../domain/errors.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { StepScope } from "../ports/step-scope.js";
import type { AgentPorts } from "./agent-ports.js";
import { Conversation } from "./conversation.js";
import { indexHooks } from "./hook-index.js";
import { InProcessScope } from "./in-process-scope.js";
import { busOf } from "./launch.js";
import { MemoryFanOut } from "./memory-fan-out.js";
import { receiversOf } from "./observers.js";
import { runTurn } from "./run-turn.js";
import { KeepingWriter } from "./session-writer.js";
import { resolveSettings } from "./settings.js";
import { createCallContext, systemRuntime } from "./system-runtime.js";
import { ToolLister } from "./tool-table.js";
import { followSignal, TurnControl } from "./turn-control.js";
import { TurnRun } from "./turn-run.js";
import type { Wiring } from "./wiring.js";

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
  const wiring = loopWiring(ports);
  const { runtime } = wiring;
  const control = new TurnControl();
  const own = new InProcessScope({ signal: control.signal, runtime });
  control.attach(own);
  const turnId = runtime.newId();
  const sessionId = turnId;
  const bus = busOf(wiring, sessionId, turnId);
  const scope = ports.stepScope ?? own;
  const startedAt = runtime.now();
  const run = new TurnRun({
    wiring,
    turnId,
    sessionId,
    startedAt,
    bus,
    scope,
    control,
    sessions: undefined,
    caller: undefined,
  });
  run.conversation = conversationOf(sessionId, messages, startedAt);
  run.writer = new KeepingWriter({
    stores: undefined,
    conversation: run.conversation,
    turnId,
    scope,
    runtime,
    storeTimeoutMs: 0,
    turnLeaseMs: 0,
    onFailure: (error) => control.fail(error),
    nextWrite: () => 0,
  });
  const unfollow = ports.signal === undefined ? undefined : followSignal(control, ports.signal);
  try {
    wiring.lister.watch(wiring.providers);
    return await runTurn(run, []);
  } finally {
    unfollow?.();
    wiring.lister.close();
    own.close();
  }
}

function conversationOf(id: string, messages: readonly (AgentMessage | MessageInput)[], at: number): Conversation {
  const conversation = new Conversation(id);
  try {
    conversation.push(
      messages.map((message, index) => stampMessage(message, `${id}.given.${index}`, at, `messages[${index}]`)),
    );
  } catch (error) {
    throw new AgentError("invalid-input", (error as Error).message, { cause: error });
  }
  const last = conversation.last();
  if (last === undefined || last.role === "assistant") {
    throw new AgentError("invalid-input", "the messages do not end with something to answer");
  }
  return conversation;
}

function loopWiring(ports: LoopPorts): Wiring {
  const { model, tools = [], hooks = [], memory = [], compressors = [], observers = [], config = {} } = ports;
  return {
    model,
    providers: tools,
    lister: new ToolLister(),
    hooks: indexHooks(hooks),
    memory: new MemoryFanOut(memory),
    compressors,
    receivers: receiversOf(observers),
    commands: NO_COMMANDS,
    settings: resolveSettings(config, model.describe?.().contextWindow),
    runtime: ports.runtime ?? systemRuntime(),
    calls: createCallContext(),
  };
}
