import type { Decision } from "../domain/decision.js";
import type { Json, JsonObject } from "../domain/json.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "../domain/message.js";
import type { ResultPatch, Stage, StageKind, StageOutcome, StagePatches } from "../domain/stage.js";
import type { ToolCall, ToolDef, ToolResult } from "../domain/tool.js";
import type { Awaitable } from "./awaitable.js";
import type { CommandAccess } from "./command-access.js";
import type { MemoryAccess } from "./memory.js";

export type { Decision } from "../domain/decision.js";

/** What a hook may know and do at any stage. Lists are fresh copies: changing one harms nobody. */
export type HookContext = {
  readonly turnId: string;
  readonly sessionId: string;
  /** 0 before the first round. */
  readonly round: number;
  readonly signal: AbortSignal;
  /** The conversation, without the system prompt. */
  readonly messages: readonly AgentMessage[];
  readonly tools: readonly ToolDef[];
  /** The system prompt of the last model call; empty before it. */
  readonly system: string;
  /** The reply whose calls are being handled. */
  readonly assistantMessage?: AssistantMessage | undefined;
  /** What this turn has added so far. */
  readonly newMessages: readonly AgentMessage[];
  /** Position of the call in its reply, at tool stages. */
  readonly sourceOrder?: number | undefined;
  readonly memory: MemoryAccess;
  readonly commands: CommandAccess;
  /** At `beforeTool`, what was decided about a call that had been deferred. The hook that deferred lets the call pass, all others judge it as ever. */
  readonly decision?: Decision | undefined;
  /** The names of the hooks that deferred that call; absent where nobody noted them. */
  readonly deferredBy?: readonly string[] | undefined;
  /** That call as somebody decided about it, with defaults; a hook before this one may have changed it since. */
  readonly approvedCall?: ToolCall | undefined;
  /** Runs an effect of the hook's own as a recorded step; `name` is unique within this hook and stage. Rejects with what `run` rejects with. */
  step<T extends Json>(name: string, run: () => Promise<T>): Promise<T>;
  /** Publishes a `custom` event whose source is this hook's name. */
  emit(label: string, data: JsonObject): void;
  /** Runs `fn` when the round ends, however it ends; from `beforeModel`, when that request ended, before a retry (H4). */
  onSettled(fn: () => Awaitable<void>): void;
};

/** Makers of outcomes; a stage allows only those `STAGE_OUTCOMES` lists for it. */
export type OutcomeMakers<K extends StageKind = StageKind> = {
  next(patch: K extends keyof StagePatches ? StagePatches[K] : never): StageOutcome;
  stop(reason: string): StageOutcome;
  abort(reason: string): StageOutcome;
  retry(options?: { readonly compress?: boolean }): StageOutcome;
  answer(result: ToolResult | string): StageOutcome;
  block(reason: string): StageOutcome;
  defer(reason: string): StageOutcome;
  patch(patch: ResultPatch): StageOutcome;
  finish(): StageOutcome;
  checkpoint(): StageOutcome;
  cancel(reason: string): StageOutcome;
  goOn(messages?: readonly MessageInput[]): StageOutcome;
  /** `reason` is told as a `custom` event of this hook, labelled `wait`. */
  wait(reason?: string): StageOutcome;
};

/** The context of `onStage`, with every maker. */
export type StageContext = HookContext & OutcomeMakers;

/**
 * What a throw, or no answer in time, means at the stages where a hook may choose: `"error-result"` turns it into the call's result, `"withhold"`
 * leaves nothing of the reply but that this hook failed, its calls included.
 */
export type OnFailure = {
  readonly afterModel?: "report" | "withhold" | undefined;
  readonly beforeTool?: "abort" | "error-result" | undefined;
  readonly afterTool?: "report" | "error-result" | undefined;
};

/**
 * Takes part in a turn at named stages. Never called concurrently for one turn. A hook that returns no promise is not awaited; one
 * call is bounded by its own `timeoutMs`, else by `hookTimeoutMs`. What a throw means is in the stage table.
 */
export interface PipelineHook {
  /** Needed for `before` and `after`, for durable turns, and in reports. No other hook of the agent or the turn may have it. */
  readonly name?: string;
  /** The stages it wants; absent, all of them. */
  readonly stages?: readonly StageKind[];
  /** Names of hooks this one stands before (outside of) or after; checked at composition (A4). */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  readonly onFailure?: OnFailure;
  /** Milliseconds one call may take, above 0; default `config.hookTimeoutMs`. For hooks that wait for a person. */
  readonly timeoutMs?: number;
  onStage(stage: Stage, context: StageContext): Awaitable<StageOutcome | undefined | void>;
}
