export {
  errorResult,
  okResult,
  stopResponse,
  testConfig,
  textStream,
  toolCallResponse,
  toolCallsResponse,
  toolCallStream,
  toolDef,
} from "./builders.js";
export { claimTables, type ClaimTable } from "./claims/claim-tables.js";
export {
  commandPortClaims,
  type CommandPortCapability,
  type CommandPortClaim,
  type CommandPortFixture,
  type SampleInvocation,
} from "./claims/command-port.js";
export {
  compressorClaims,
  type CompressorCapability,
  type CompressorClaim,
  type CompressorFixture,
} from "./claims/compressor.js";
export * from "./claims/index.js";
export {
  lifecycleClaims,
  type LifecycleCapability,
  type LifecycleClaim,
  type LifecycleFixture,
} from "./claims/lifecycle.js";
export {
  memoryPortClaims,
  type MemoryPortCapability,
  type MemoryPortClaim,
  type MemoryPortFixture,
} from "./claims/memory-port.js";
export {
  modelPortClaims,
  type ModelPortCapability,
  type ModelPortClaim,
  type ModelPortFixture,
  type ModelSamples,
  type SampleRequest,
} from "./claims/model-port.js";
export { HOSTILE_TEXTS, observerClaims, type ObserverFixture } from "./claims/observer.js";
export {
  type HookMoment,
  pipelineHookClaims,
  type PipelineHookCapability,
  type PipelineHookClaim,
  type PipelineHookFixture,
} from "./claims/pipeline-hook.js";
export {
  type SampleCall,
  toolProviderClaims,
  type ToolProviderCapability,
  type ToolProviderFixture,
} from "./claims/tool-provider.js";
export { assertCrashSafe, crashPoints } from "./crash/crash-points.js";
export type { CrashFault } from "./crash/crash-checks.js";
export type { CrashOutcome, CrashReport } from "./crash/crash-report.js";
export type { CrashLife, CrashPlace, CrashRecovery, CrashScenario } from "./crash/crash-scenario.js";
export { Journal, type JournalStep } from "./crash/journal.js";
export { type CrashPoint, type JournalOptions, JournalScope } from "./crash/journal-scope.js";
export { ConversingModel } from "./fakes/conversing-model.js";
export { modelStep, type ModelStep, type Pace } from "./fakes/model-step.js";
export { commandDef, type InvokeRecord, RecordingCommands } from "./fakes/recording-commands.js";
export { type CompressRecord, type CompressStep, RecordingCompressor } from "./fakes/recording-compressor.js";
export { RecordingHook, type StageMatch, type StageRecord } from "./fakes/recording-hook.js";
export { RecordingLifecycle } from "./fakes/recording-lifecycle.js";
export { type MemoryOperation, type MemoryOutcome, RecordingMemory } from "./fakes/recording-memory.js";
export { RecordingObserver } from "./fakes/recording-observer.js";
export { RecordingSessionStore, type SessionOperation, type SessionOutcome } from "./fakes/recording-session-store.js";
export {
  type ExecRecord,
  RecordingToolProvider,
  type ToolOperation,
  type ToolProviderMembers,
} from "./fakes/recording-tool-provider.js";
export { type RecordedModelCall, type RecordedRequest, ScriptedModel } from "./fakes/scripted-model.js";
export { ScriptExhausted } from "./fakes/script-exhausted.js";
export { toolOutcome, type ToolStep } from "./fakes/tool-outcome.js";
export { orderResults } from "../domain/transcript.js";
export { transcriptLaw, type TranscriptViolation } from "../domain/transcript-law.js";
export { failing, type Failing, type FaultRecord, type FaultStep, type MethodName } from "./faults/failing.js";
export { type AnyPort, type Fault, fault } from "./faults/fault.js";
export { assertTranscriptLaw, type LawOptions, type Transcript } from "./law.js";
export { type RecordablePorts, type Recording, type RecordOptions, recordPorts } from "./replay/record-ports.js";
export { RecordingError, type RecordingErrorKind, ReplayDrift } from "./replay/recording-error.js";
export type { RecordingSink, RecordingSource, RecordingTarget } from "./replay/recording-file.js";
export type { ReplayOptions } from "./replay/replay-options.js";
export { type Replay, replayPorts } from "./replay/replay-ports.js";
export { TEST_START, type TestRuntime, testRuntime } from "./runtime.js";
export { type SampleOptions, sampleEvents, unknownEvent } from "./sample-events.js";
export { sampleStages, unknownStage } from "./sample-stages.js";
export { testStageContext } from "./stage-context.js";
export { testAgent, type TestAgent, type TestAgentOptions } from "./test-agent.js";
export { testToolContext } from "./tool-context.js";
export { traceDifference } from "./trace-difference.js";
export {
  assertEventsContain,
  assertEventsEqual,
  assertTrace,
  eventTraceMismatch,
  type EventSource,
  type ExpectedEvent,
  traceOf,
  type TraceOptions,
} from "./traces.js";
