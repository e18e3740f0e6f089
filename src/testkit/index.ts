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
export * from "./claims/index.js";
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
  type SampleCall,
  toolProviderClaims,
  type ToolProviderCapability,
  type ToolProviderFixture,
} from "./claims/tool-provider.js";
export { modelStep, type ModelStep, type Pace } from "./fakes/model-step.js";
export { commandDef, type InvokeRecord, RecordingCommands } from "./fakes/recording-commands.js";
export { type CompressRecord, type CompressStep, RecordingCompressor } from "./fakes/recording-compressor.js";
export { RecordingHook, type StageMatch, type StageRecord } from "./fakes/recording-hook.js";
export { RecordingLifecycle } from "./fakes/recording-lifecycle.js";
export { type MemoryOperation, RecordingMemory } from "./fakes/recording-memory.js";
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
export { TEST_START, type TestRuntime, testRuntime } from "./runtime.js";
export { type SampleOptions, sampleEvents, unknownEvent } from "./sample-events.js";
export { testAgent, type TestAgent, type TestAgentOptions } from "./test-agent.js";
export { testToolContext } from "./tool-context.js";
export {
  assertEventsContain,
  assertEventsEqual,
  eventTraceMismatch,
  type EventSource,
  type ExpectedEvent,
  traceOf,
} from "./traces.js";
