import { adopt } from "../domain/adopt.js";
import type { Defect } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "../domain/message.js";
import { type DeferredCall, SESSION_KEYS, type UsageRecord } from "../domain/session.js";
import type { Turn } from "../domain/turn.js";
import { addUsage, type Usage } from "../domain/usage.js";
import type { StageKind } from "../domain/stage.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { ToolDef, ToolExchange } from "../domain/tool.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { Compressor } from "../ports/compressor.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { StepScope } from "../ports/step-scope.js";
import type { CallPath } from "./call-path.js";
import type { Conversation } from "./conversation.js";
import { isThenable, type EventBus } from "./observers.js";
import type { Writer } from "./session-writer.js";
import type { HookTurn } from "./stage-context.js";
import { Stages } from "./stages.js";
import type { ToolTable } from "./tool-table.js";
import type { TurnControl } from "./turn-control.js";
import type { TurnSessions } from "./turn-sessions.js";
import type { Wiring } from "./wiring.js";

/** What a turn is started with. */
export type TurnStart = {
  readonly wiring: Wiring;
  readonly turnId: string;
  readonly sessionId: string;
  readonly startedAt: number;
  readonly bus: EventBus;
  readonly scope: StepScope;
  readonly control: TurnControl;
  /** Absent for a turn without session. */
  readonly sessions: TurnSessions | undefined;
  /** The turns whose tools are on the way to this one. */
  readonly caller: CallPath | undefined;
};

/** What the parts of one turn share: its wiring, where it stands, and what it has made. Its `Turn` value decides what comes next. */
export class TurnRun implements HookTurn {
  readonly wiring: Wiring;
  readonly turnId: string;
  readonly bus: EventBus;
  readonly scope: StepScope;
  readonly control: TurnControl;
  readonly signal: AbortSignal;
  readonly sessions: TurnSessions | undefined;
  readonly stages: Stages;
  readonly added: AgentMessage[] = [];
  readonly exchanges: ToolExchange[] = [];
  readonly deferred: DeferredCall[] = [];
  /** Compressors that did not help; not asked again in this turn (C1). */
  readonly idleCompressors: Compressor[] = [];
  sessionId: string;
  round = 0;
  system = "";
  assistantMessage: AssistantMessage | undefined;
  toolsVersion = 0;
  roundOpen = false;
  /** Input that is not in the session yet. */
  undelivered: readonly AgentMessage[] = [];
  /** The latest time a step has told; stamps what no step made. */
  now: number;
  table: ToolTable = { defs: [], byName: new Map() };
  /** What this round's calls are looked up in: the tools the model was shown. */
  shown: ToolTable = this.table;
  /** What the session had used when the turn began. */
  usageBefore: Usage = {};
  conversation!: Conversation;
  writer!: Writer;
  readonly #caller: CallPath | undefined;
  #messageNumber = 0;
  readonly #settledRound: (() => Awaitable<void>)[] = [];
  readonly #settledRequest: (() => Awaitable<void>)[] = [];

  constructor(start: TurnStart) {
    this.wiring = start.wiring;
    this.turnId = start.turnId;
    this.sessionId = start.sessionId;
    this.now = start.startedAt;
    this.bus = start.bus;
    this.scope = start.scope;
    this.control = start.control;
    this.signal = start.control.signal;
    this.sessions = start.sessions;
    this.#caller = start.caller;
    this.stages = new Stages(start.wiring.hooks, this);
  }

  /** The way to a tool of this turn. */
  get path(): CallPath {
    const { turnId, sessions } = this;
    return { turnId, host: sessions?.host, held: sessions?.held ?? [], outer: this.#caller };
  }
  get hookTimeoutMs(): number {
    return this.wiring.settings.limits.hookTimeoutMs;
  }
  get memory(): MemoryAccess {
    return this.wiring.memory;
  }
  get commands(): CommandAccess {
    return this.wiring.commands;
  }
  get defect(): Defect | undefined {
    return this.bus.defect;
  }

  messages(): AgentMessage[] {
    return this.conversation === undefined ? [] : this.conversation.snapshot();
  }
  newMessages(): AgentMessage[] {
    return this.added.slice();
  }
  tools(): ToolDef[] {
    return [...this.table.defs];
  }

  nextMessageId(): string {
    return `${this.turnId}.${this.#messageNumber++}`;
  }

  /** The stored form of a message this turn adds or sends. */
  readonly stamp = (message: AgentMessage | MessageInput): AgentMessage =>
    stampMessage(message, this.nextMessageId(), this.now, "message");

  /** Stores messages of this turn with what it has used so far. Rejects with `AgentError("session")`. */
  store(messages: readonly AgentMessage[], turn: Turn): Promise<void> {
    for (const message of messages) this.added.push(message);
    return this.writer.add(messages, { metadata: { [SESSION_KEYS.usage]: this.usageRecord(turn) } });
  }

  /** What the session and this turn have used. */
  usageRecord(turn: Turn): UsageRecord {
    const { usage, modelCalls, toolCalls } = turn;
    return { session: addUsage(this.usageBefore, usage), turn: { turnId: this.turnId, usage, modelCalls, toolCalls } };
  }

  emit(source: string, label: string, data: JsonObject): void {
    this.bus.publish("custom", { source, label, data: adopt(data, "custom event") });
  }

  /** An event while there may be one, else a report: a turn that publishes nothing more loses no failure (T2, T5). */
  secondary(failure: SecondaryFailure): void {
    if (this.bus.ended) this.wiring.settings.onSecondaryFailure(failure);
    else this.bus.publish("custom", { source: "ennead.core", label: "secondary_failure", data: failure });
  }

  onSettled(kind: StageKind, fn: () => Awaitable<void>): void {
    (kind === "beforeModel" ? this.#settledRequest : this.#settledRound).push(fn);
  }

  /** Runs what hooks left for the end of a request or round, the last one first; a throw is secondary. */
  settle(what: "request" | "round"): Promise<void> | undefined {
    const list = what === "request" ? this.#settledRequest : this.#settledRound;
    return list.length === 0 ? undefined : this.#settleAll(list);
  }

  /** Whether hooks left anything for the end of the request or round. */
  get hasRoundCallbacks(): boolean {
    return this.#settledRound.length > 0 || this.#settledRequest.length > 0;
  }

  /** The same for everything that is left when the turn ends. */
  async settleRest(): Promise<void> {
    await this.settle("request");
    await this.settle("round");
  }

  async #settleAll(list: (() => Awaitable<void>)[]): Promise<void> {
    while (list.length > 0) {
      const fn = list.pop() as () => Awaitable<void>;
      try {
        const answer = fn();
        if (!isThenable(answer)) continue;
        const outcome = await this.scope.bounded(() => answer, this.hookTimeoutMs);
        if (!outcome.ok) this.stages.secondary("settled", outcome.error);
      } catch (error) {
        this.stages.secondary("settled", error);
      }
    }
  }
}
