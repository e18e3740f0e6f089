import { adopt, adoptOwn } from "../domain/adopt.js";
import type { Defect } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "../domain/message.js";
import { NONE } from "../domain/none.js";
import type { DeferringHooks } from "../domain/deferred-calls.js";
import { type DeferredCall, SESSION_KEYS, type UsageRecord } from "../domain/session.js";
import type { Turn } from "../domain/turn.js";
import { addUsage, type Usage } from "../domain/usage.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import type { StageKind, StageOf } from "../domain/stage.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { ToolCall, ToolDef, ToolExchange } from "../domain/tool.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { Compressor } from "../ports/compressor.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { StepScope } from "../ports/step-scope.js";
import { type CallPath, stillRunning } from "./call-path.js";
import { ContextSize } from "./context-size.js";
import type { Conversation } from "./conversation.js";
import type { EventBus } from "./observers.js";
import { type OutputMeter, outputMeter } from "./output-meter.js";
import { NOTHING_RESUMED, type ResumedCall } from "../domain/resume-plan.js";
import type { Writer } from "./session-writer.js";
import { SettledCallbacks } from "./settled-callbacks.js";
import type { HookTurn } from "./stage-context.js";
import { Stages } from "./stages.js";
import { knownTool, NO_TOOLS, type ToolTable } from "./tool-table.js";
import type { TurnBudget } from "./turn-budget.js";
import type { TurnControl } from "./turn-control.js";
import type { TurnSessions } from "./turn-sessions.js";
import type { Wiring } from "./wiring.js";

const NO_ORDERS: ReadonlyMap<ToolCall, number> = new Map();
const NO_HOOKS: DeferringHooks = new Map();
const NOTHING_USED = Object.freeze({ usage: {}, modelCalls: 0, toolCalls: 0 });

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
  readonly budget: TurnBudget;
  /** The turns whose tools are on the way to this one. */
  readonly caller: CallPath | undefined;
};

/** What the parts of one turn share: its wiring, where it stands, and what it has made. Its `Turn` value decides what comes next. */
export class TurnRun implements HookTurn {
  readonly wiring: Wiring;
  readonly turnId: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly bus: EventBus;
  readonly scope: StepScope;
  readonly control: TurnControl;
  readonly signal: AbortSignal;
  readonly sessions: TurnSessions | undefined;
  readonly stages: Stages;
  readonly callbacks: SettledCallbacks;
  readonly budget: TurnBudget;
  readonly output: OutputMeter | undefined;
  /** Tools that the provider refused (C3). */
  leftOut: readonly string[] = NONE;
  readonly size = new ContextSize();
  /** What model calls of compressors used that the turn has not counted yet, one entry a call. */
  uncounted: readonly (Usage | undefined)[] = NONE;
  readonly #added: AgentMessage[] = [];
  readonly exchanges: ToolExchange[] = [];
  deferred: readonly DeferredCall[] = NONE;
  deferringHooks = NO_HOOKS;
  /** Compressors that did not help; not asked again in this turn (C1). */
  idleCompressors: readonly Compressor[] = NONE;
  sessionId: string;
  round = 0;
  system = "";
  assistantMessage: AssistantMessage | undefined;
  toolsVersion = 0;
  roundOpen = false;
  /** Input and steering that is taken, and not in the session yet. */
  undelivered: readonly AgentMessage[] = NONE;
  /** Input and steering that is in the session, or will be where everything is stored at the end. */
  accepted: readonly AgentMessage[] = NONE;
  /** What a resumed turn continues, by execution (S6, U5). */
  resumed: ReadonlyMap<string, ResumedCall> = NOTHING_RESUMED;
  /** The positions of these calls in their reply, of which a store may hold two with one id. */
  resumedOrders = NO_ORDERS;
  /** The stored reply whose calls these are. */
  resumedReply: AssistantMessage | undefined;
  /** The latest time a step has told; stamps what no step made. */
  now: number;
  table = NO_TOOLS;
  /** What this round's calls are looked up in: the tools the model was shown. */
  shown: ToolTable = this.table;
  /** What the session had used when the turn began. */
  usageBefore: Usage = {};
  /** What the turn used that this one continues. */
  continued: Pick<UsageRecord["turn"], "usage" | "modelCalls" | "toolCalls"> = NOTHING_USED;
  conversation!: Conversation;
  writer!: Writer;
  readonly #caller: CallPath | undefined;
  #path: CallPath | undefined;
  #messageNumber = 0;

  constructor(start: TurnStart) {
    this.wiring = start.wiring;
    this.turnId = start.turnId;
    this.sessionId = start.sessionId;
    this.startedAt = start.startedAt;
    this.now = start.startedAt;
    this.bus = start.bus;
    this.scope = start.scope;
    this.control = start.control;
    this.signal = start.control.signal;
    this.sessions = start.sessions;
    this.budget = start.budget;
    this.output = outputMeter(start.wiring.settings.limits);
    this.#caller = start.caller;
    this.stages = new Stages(start.wiring.hooks, this);
    this.callbacks = new SettledCallbacks(this, this.stages);
  }

  /** The way to a tool or hook of this turn. */
  get path(): CallPath {
    this.#path ??= {
      turnId: this.turnId,
      host: this.sessions?.host,
      held: this.sessions?.held ?? [],
      budgets: this.budget.shared,
      outer: stillRunning(this.#caller),
    };
    return this.#path;
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

  within<T>(run: () => T): T {
    return this.wiring.calls.run(this.path, run);
  }
  messages(): AgentMessage[] {
    return this.conversation === undefined ? [] : this.conversation.snapshot();
  }
  newMessages(): AgentMessage[] {
    return this.#added.slice();
  }
  tools(): ToolDef[] {
    return [...this.table.defs];
  }

  readonly toolOf = (name: string): Pick<StageOf<"beforeTool">, "tool" | "hints"> => knownTool(this.shown, name);

  /** What the turn has added so far. */
  get added(): readonly AgentMessage[] {
    return this.#added;
  }

  /** What the model is shown: all tools but those its provider refused. */
  offeredTools(): readonly ToolDef[] {
    const { defs } = this.table;
    return this.leftOut.length === 0 ? defs : defs.filter(({ name }) => !this.leftOut.includes(name));
  }

  nextMessageId(): string {
    return `${this.turnId}.${this.#messageNumber++}`;
  }

  /** The stored form of a message this turn adds or sends. */
  readonly stamp = (message: AgentMessage | MessageInput): AgentMessage =>
    stampMessage(message, this.nextMessageId(), this.now, "message");

  /** Stores messages of this turn with what it has used so far. Rejects with `AgentError("session")`. */
  store(messages: readonly AgentMessage[], turn: Turn): Promise<void> {
    this.add(messages);
    return this.writer.add(messages, this.usageChange(turn));
  }

  /** Counts messages as this turn's. */
  add(messages: readonly AgentMessage[]): void {
    for (const message of messages) {
      this.#added.push(message);
      this.output?.add(message);
    }
  }

  /** Begins where the session stands, as its metadata tells. */
  continueFrom(metadata: JsonObject): void {
    const record = decodeUsageRecord(metadata[SESSION_KEYS.usage]);
    this.usageBefore = record?.session ?? {};
    this.size.correction = record?.correction;
  }

  /** What a write says that the session and this turn have used. The record is frozen, so that no store needs to copy it. */
  usageChange(turn: Turn): { readonly metadata: JsonObject } {
    return { metadata: { [SESSION_KEYS.usage]: this.#usageRecord(turn) } };
  }

  /** What the turn continues is included. */
  #usageRecord(turn: Turn): UsageRecord {
    const { usage, modelCalls, toolCalls } = turn;
    const { continued, turnId, budget } = this;
    const own = {
      // Once a write: a turn that continues none has nothing to add to.
      usage: continued === NOTHING_USED ? usage : addUsage(continued.usage, usage),
      modelCalls: continued.modelCalls + modelCalls,
      toolCalls: continued.toolCalls + toolCalls,
    };
    const cost = budget.cost === undefined ? undefined : { cost: budget.cost };
    const { correction } = this.size;
    const size = correction === undefined ? undefined : { correction };
    Object.freeze(own.usage);
    const session = Object.freeze(addUsage(this.usageBefore, usage));
    return adoptOwn({ session, turn: Object.freeze({ turnId, ...own, ...cost }), ...size });
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
    this.callbacks.add(kind === "beforeModel" ? "request" : "round", fn);
  }
}
