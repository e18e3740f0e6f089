import type { Json, JsonObject } from "../domain/json.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "../domain/message.js";
import type { ResultPatch, StageKind, StageOf, StageOutcome, StagePatches } from "../domain/stage.js";
import { okResult, type ToolCall, type ToolDef, type ToolResult } from "../domain/tool.js";
import type { SecondaryFailure } from "../ports/agent-config.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { Decision, StageContext } from "../ports/hook.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { StepScope } from "../ports/step-scope.js";

/** What a stage context shows of its turn. Arrays are made afresh for each reader. */
export type HookTurn = {
  readonly turnId: string;
  readonly sessionId: string;
  readonly round: number;
  readonly signal: AbortSignal;
  readonly scope: StepScope;
  readonly hookTimeoutMs: number;
  readonly system: string;
  readonly assistantMessage: AssistantMessage | undefined;
  readonly memory: MemoryAccess;
  readonly commands: CommandAccess;
  /** Runs a hook so that turns it starts are known to be on the way from this one: they share its budgets, and do not wait for its session. */
  within<T>(run: () => T): T;
  messages(): AgentMessage[];
  newMessages(): AgentMessage[];
  tools(): ToolDef[];
  /** What a call of this name would run, and what may be believed of it. */
  readonly toolOf: (name: string) => Pick<StageOf<"beforeTool">, "tool" | "hints">;
  /** Gives a message made by a hook an id and a time. */
  stamp(message: AgentMessage | MessageInput): AgentMessage;
  emit(source: string, label: string, data: JsonObject): void;
  onSettled(kind: StageKind, fn: () => Awaitable<void>): void;
  secondary(failure: SecondaryFailure): void;
};

/** What belongs to one call or attempt. */
export type ContextExtras = {
  readonly sourceOrder?: number | undefined;
  readonly attempt?: number | undefined;
  readonly decision?: Decision | undefined;
  readonly deferredBy?: readonly string[] | undefined;
  readonly approvedCall?: ToolCall | undefined;
};

/** The context of one hook at one stage; reads the turn when asked, so that an unused field costs nothing. */
export class HookStageContext implements StageContext {
  readonly #view: HookTurn;
  readonly #hook: string;
  readonly #kind: StageKind;
  readonly #extras: ContextExtras;

  constructor(view: HookTurn, hook: string, kind: StageKind, extras: ContextExtras) {
    this.#view = view;
    this.#hook = hook;
    this.#kind = kind;
    this.#extras = extras;
  }

  get turnId(): string {
    return this.#view.turnId;
  }
  get sessionId(): string {
    return this.#view.sessionId;
  }
  get round(): number {
    return this.#view.round;
  }
  get signal(): AbortSignal {
    return this.#view.signal;
  }
  get messages(): AgentMessage[] {
    return this.#view.messages();
  }
  get tools(): ToolDef[] {
    return this.#view.tools();
  }
  get system(): string {
    return this.#view.system;
  }
  get assistantMessage(): AssistantMessage | undefined {
    return this.#view.assistantMessage;
  }
  get newMessages(): AgentMessage[] {
    return this.#view.newMessages();
  }
  get sourceOrder(): number | undefined {
    return this.#extras.sourceOrder;
  }
  get memory(): MemoryAccess {
    return this.#view.memory;
  }
  get commands(): CommandAccess {
    return this.#view.commands;
  }
  get decision(): Decision | undefined {
    return this.#extras.decision;
  }
  get deferredBy(): readonly string[] | undefined {
    return this.#extras.deferredBy;
  }
  get approvedCall(): ToolCall | undefined {
    return this.#extras.approvedCall;
  }

  async step<T extends Json>(name: string, run: () => Promise<T>): Promise<T> {
    const { sourceOrder, attempt } = this.#extras;
    const place = [this.#view.round, attempt, sourceOrder].filter((part) => part !== undefined).join(".");
    const outcome = await this.#view.scope.step(`hook:${this.#hook}:${this.#kind}#${place}:${name}`, run);
    if (!outcome.ok) throw outcome.error;
    return outcome.value;
  }
  emit(label: string, data: JsonObject): void {
    this.#view.emit(this.#hook, label, data);
  }
  onSettled(fn: () => Awaitable<void>): void {
    this.#view.onSettled(this.#kind, fn);
  }

  next(patch: StagePatches[keyof StagePatches]): StageOutcome {
    return { kind: "next", patch };
  }
  stop(reason: string): StageOutcome {
    return { kind: "stop", reason };
  }
  abort(reason: string): StageOutcome {
    return { kind: "abort", reason };
  }
  retry(options: { readonly compress?: boolean } = {}): StageOutcome {
    return { kind: "retry", compress: options.compress ?? false };
  }
  answer(result: ToolResult | string): StageOutcome {
    return { kind: "answer", result: typeof result === "string" ? okResult(result) : result };
  }
  block(reason: string): StageOutcome {
    return { kind: "block", reason };
  }
  defer(reason: string): StageOutcome {
    return { kind: "defer", reason };
  }
  patch(patch: ResultPatch): StageOutcome {
    return { kind: "patch", patch };
  }
  finish(): StageOutcome {
    return { kind: "finish" };
  }
  checkpoint(): StageOutcome {
    return { kind: "checkpoint" };
  }
  cancel(reason: string): StageOutcome {
    return { kind: "cancel", reason };
  }
  goOn(messages: readonly MessageInput[] = []): StageOutcome {
    return { kind: "goOn", messages };
  }
  wait(reason = ""): StageOutcome {
    return { kind: "wait", reason };
  }
}
