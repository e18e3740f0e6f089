export { Agent } from "./agent/agent.js";
export type { AgentPorts } from "./agent/agent-ports.js";
export { createBudget } from "./agent/budget.js";
export {
  type CopiedSession,
  type CopyFailure,
  type CopyReport,
  copySessions,
  type CopySessionsOptions,
} from "./agent/copy-sessions.js";
export { type InProcessOptions, InProcessScope } from "./agent/in-process-scope.js";
export { type LoopPorts, runLoop } from "./agent/run-loop.js";
export { type Copied, copySession, type CopyOptions, exportSession, importSession } from "./agent/session-transfer.js";
export { toChatOptions } from "./agent/settings.js";
export { systemRuntime } from "./agent/system-runtime.js";
export {
  type AllowedOutcome,
  defineHook,
  type HookDefinition,
  type MakersOf,
  type OutcomeOf,
  type StageHandler,
} from "./adapters/hooks/define-hook.js";
export type * from "./ports/index.js";
export { adopt, isAdopted } from "./domain/adopt.js";
export { applyDefaults, dropNulls } from "./domain/arguments.js";
export { coerceArguments } from "./domain/coerce-arguments.js";
export type * from "./domain/command.js";
export {
  type Content,
  type ContentInput,
  type ContentSource,
  contentText,
  type FileContent,
  type ImageContent,
  type Metadata,
  type TextContent,
  toContent,
} from "./domain/content.js";
export { describeThrown } from "./domain/describe-thrown.js";
export { createEmitter, type Emitter } from "./domain/emitter.js";
export * from "./domain/errors.js";
export { type CountText, estimateTokens } from "./domain/estimate.js";
export type * from "./domain/event.js";
export { isTerminal } from "./domain/event.js";
export { type Exchange, exchangesOf } from "./domain/exchanges.js";
export { expandTemplate } from "./domain/expand-template.js";
export type { FinishReason } from "./domain/finish-reason.js";
export type { Json, JsonObject } from "./domain/json.js";
export { DEFAULT_LIMITS, DEFAULT_MAX_TOOL_ROUNDS, type Limits } from "./domain/limits.js";
export * from "./domain/memory.js";
export * from "./domain/message.js";
export type * from "./domain/model.js";
export { type NextStep, nextStep, STOP_REASONS, type StepLimits } from "./domain/next-step.js";
export { isPinned, pinned, PINNED_KEY, pinnedMessages } from "./domain/pins.js";
export { safeLabel } from "./domain/safe-label.js";
export * from "./domain/session.js";
export {
  applyAppend,
  applySave,
  matchesMetadata,
  pageRequest,
  patchMetadata,
  sessionLabel,
  storable,
  type StoredState,
  type WriteDecision,
} from "./domain/session-rules.js";
export { parseSlashArgs } from "./domain/slash-args.js";
export { parseSlashLine } from "./domain/slash-line.js";
export * from "./domain/stage.js";
export { type PartialResponse, StreamAccumulator } from "./domain/stream.js";
export type * from "./domain/stream-chunk.js";
export type { TextSource } from "./domain/text-lines.js";
export { textTerms } from "./domain/text-terms.js";
export * from "./domain/tool.js";
export { orderResults } from "./domain/transcript.js";
export { type TranscriptViolation, transcriptLaw } from "./domain/transcript-law.js";
export {
  begin,
  type Endings,
  type Exceeded,
  type RoundDecision,
  type Turn,
  type Waiting,
  withReply,
  withResults,
} from "./domain/turn.js";
export type * from "./domain/turn-result.js";
export type { ToolHints } from "./domain/tool-hints.js";
export {
  EMPTY_TURN_VIEW,
  type PartialCall,
  type PartialMessage,
  type PendingCall,
  type TurnView,
  turnView,
} from "./domain/turn-view.js";
export { addUsage, type Usage } from "./domain/usage.js";
export { validateArgs } from "./domain/validate-args.js";
export { quoteWord, splitWords } from "./domain/words.js";
