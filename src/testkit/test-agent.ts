import { Agent } from "../agent/agent.js";
import { checkFields } from "../domain/known-fields.js";
import type { ModelResponse } from "../domain/model.js";
import type { AgentConfig, SecondaryFailure } from "../ports/agent-config.js";
import type { CommandPort } from "../ports/command.js";
import type { Compressor } from "../ports/compressor.js";
import type { PipelineHook } from "../ports/hook.js";
import type { Lifecycle } from "../ports/lifecycle.js";
import type { MemoryPort } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import type { Observer } from "../ports/observer.js";
import type { Runtime } from "../ports/runtime.js";
import type { SessionStore } from "../ports/session-store.js";
import type { ToolProvider } from "../ports/tool-provider.js";
import { testConfig } from "./builders.js";
import type { ModelStep } from "./fakes/model-step.js";
import { RecordingObserver } from "./fakes/recording-observer.js";
import { RecordingSessionStore } from "./fakes/recording-session-store.js";
import { RecordingToolProvider } from "./fakes/recording-tool-provider.js";
import { ScriptedModel } from "./fakes/scripted-model.js";
import type { ToolStep } from "./fakes/tool-outcome.js";
import { type TestRuntime, testRuntime } from "./runtime.js";

/** What a test agent is made of; everything has a default. */
export type TestAgentOptions = {
  /** What the scripted model does, one step a call; more can be pushed later. */
  readonly script?: readonly (ModelStep | ModelResponse)[] | undefined;
  /** Takes the place of the scripted model, which then stays unused. */
  readonly model?: ModelPort | undefined;
  /** Tools by name for a recording provider, or one that was made before. */
  readonly tools?: RecordingToolProvider | Readonly<Record<string, ToolStep | readonly ToolStep[]>> | undefined;
  /** Behind the recording provider. */
  readonly providers?: readonly ToolProvider[] | undefined;
  readonly hooks?: readonly PipelineHook[] | undefined;
  /** Behind the recording observer. */
  readonly observers?: readonly Observer[] | undefined;
  readonly compressors?: readonly Compressor[] | undefined;
  readonly memory?: readonly MemoryPort[] | undefined;
  readonly lifecycles?: readonly Lifecycle[] | undefined;
  readonly commands?: readonly CommandPort[] | undefined;
  /** In place of the recording store; the first is the authority. */
  readonly sessions?: readonly SessionStore[] | undefined;
  /** On top of `testConfig()`. */
  readonly config?: AgentConfig | undefined;
  /** In place of the virtual clock. */
  readonly runtime?: Runtime | undefined;
};

/** An agent with the fakes it is made of. `await using` shuts it down, and moves the virtual clock so that turns still running are aborted. */
export type TestAgent = {
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly tools: RecordingToolProvider;
  readonly sessions: RecordingSessionStore;
  readonly observer: RecordingObserver;
  /** Stands still until the test advances it; unused when the options brought a runtime. */
  readonly runtime: TestRuntime;
  /** What was reported to `onSecondaryFailure`, in order; a snapshot at each read. */
  readonly secondaryFailures: readonly SecondaryFailure[];
  /** Throws a `Defect` when one of the fakes has something left of its script. */
  assertDone(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

const OPTION_NAMES = [
  "script",
  "model",
  "tools",
  "providers",
  "hooks",
  "observers",
  "compressors",
  "memory",
  "lifecycles",
  "commands",
  "sessions",
  "config",
  "runtime",
] as const satisfies readonly (keyof TestAgentOptions)[];

const CLOSING_MS = 60_000;

/** An agent of fakes in one line: `await testAgent({ script: [stopResponse("hi")] })`. Rejects with `CompositionError("invalid-config")` for an unknown option. */
export async function testAgent(options: TestAgentOptions = {}): Promise<TestAgent> {
  checkFields("testAgent", options, OPTION_NAMES);
  const model = new ScriptedModel(options.script);
  const tools = toolsOf(options.tools);
  const runtime = testRuntime();
  const sessions = new RecordingSessionStore({ now: () => (options.runtime ?? runtime).now() });
  const observer = new RecordingObserver();
  const failures: SecondaryFailure[] = [];
  const agent = await Agent.create({
    model: options.model ?? model,
    tools: [tools, ...(options.providers ?? [])],
    hooks: options.hooks ?? [],
    observers: [observer, ...(options.observers ?? [])],
    compressors: options.compressors ?? [],
    memory: options.memory ?? [],
    lifecycles: options.lifecycles ?? [],
    commands: options.commands ?? [],
    sessions: options.sessions ?? [sessions],
    config: testConfig({ onSecondaryFailure: (failure) => void failures.push(failure), ...options.config }),
    runtime: options.runtime ?? runtime,
  });
  return {
    agent,
    model,
    tools,
    sessions,
    observer,
    runtime,
    get secondaryFailures() {
      return [...failures];
    },
    assertDone() {
      for (const fake of [model, tools, observer, sessions]) fake.assertDone();
    },
    async [Symbol.asyncDispose]() {
      const closing = agent.shutdown();
      closing.catch(() => undefined);
      // A turn that a failed test left behind is drained, then aborted: both take virtual time.
      await runtime.advance(CLOSING_MS);
      await closing;
    },
  };
}

function toolsOf(tools: TestAgentOptions["tools"]): RecordingToolProvider {
  if (tools instanceof RecordingToolProvider) return tools;
  const provider = new RecordingToolProvider({ name: "tools", trustAnnotations: true });
  for (const [name, script] of Object.entries(tools ?? {})) provider.add(name, script);
  return provider;
}
