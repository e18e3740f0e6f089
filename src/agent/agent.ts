import { checkFields } from "../domain/known-fields.js";
import { Defect } from "../domain/errors.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import { type DeferredCall, type Session, SESSION_KEYS, type UsageRecord } from "../domain/session.js";
import type { ToolDef } from "../domain/tool.js";
import type { TurnResult } from "../domain/turn-result.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import type {
  AgentApi,
  CompactOptions,
  CompactResult,
  EventListener,
  ResumeOptions,
  SessionAccess,
  SteeringInput,
  TurnHandle,
  TurnInput,
  TurnOptions,
} from "../ports/agent-api.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { Explanation } from "../ports/explanation.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import { type AgentPorts, PORT_NAMES } from "./agent-ports.js";
import { CommandTable } from "./command-table.js";
import { compactSession } from "./compact-session.js";
import { compose, composeStores } from "./composition.js";
import { explain } from "./explain.js";
import { givenDecisions } from "./given-decisions.js";
import type { Opening } from "./run-turn.js";
import { StoredSessions } from "./session-access.js";
import { SessionHost } from "./session-host.js";
import { resolveSettings } from "./settings.js";
import { startAll, stopAll } from "./shutdown.js";
import { systemRuntime } from "./system-runtime.js";
import { type ListBound, listingsOf, listTools } from "./tool-table.js";
import { steeringInput, turnInput } from "./turn-input.js";
import { TurnLauncher } from "./turn-launcher.js";
import type { Wiring } from "./wiring.js";

/** An agent: ports wired to one loop. Many may live in one process and share adapters (A3). */
export class Agent implements AgentApi {
  readonly commands: CommandAccess;
  readonly memory: MemoryAccess;
  readonly sessions: SessionAccess;
  #ports: AgentPorts;
  readonly #host: SessionHost;
  readonly #stored: StoredSessions;
  readonly #turns: TurnLauncher;
  readonly #listeners = new Set<EventListener>();
  #wiring: Wiring;
  #closing: Promise<void> | undefined;

  private constructor(ports: AgentPorts) {
    const runtime = ports.runtime ?? systemRuntime();
    this.#ports = ports;
    this.commands = new CommandTable(ports.commands ?? [], this);
    this.#wiring = compose(ports, runtime, this.commands);
    this.memory = this.#wiring.memory;
    this.#host = new SessionHost(
      composeStores(ports.sessions),
      runtime,
      this.#wiring.settings.limits,
      this.#wiring.calls,
    );
    this.#stored = new StoredSessions(this.#host, runtime);
    this.sessions = this.#stored;
    this.#turns = new TurnLauncher(this.#host, this.#listeners, () => ({ wiring: this.#wiring, ports: this.#ports }));
  }

  /** Checks and wires the parts, starts the lifecycles, and lists every tool once. Rejects with `CompositionError` for what does not fit, and then has shut down what it started (A1). */
  static async create(ports: AgentPorts): Promise<Agent> {
    checkFields("Agent.create", ports, PORT_NAMES);
    const agent = new Agent({ ...ports });
    await startAll(ports.lifecycles ?? []);
    try {
      agent.#wiring.lister.watch(agent.#wiring.providers);
      await agent.tools();
    } catch (error) {
      const failures = await agent.shutdown().then(() => [], failuresOf);
      if (failures.length === 0 || Defect.is(error)) throw error;
      throw new AggregateError([error, ...failures], "the agent was not composed, and did not shut down cleanly");
    }
    return agent;
  }

  runTurn(input: TurnInput, sessionId?: string, options: TurnOptions = {}): Promise<TurnResult> {
    return this.#turns.run({ opening: () => inputOf(input), sessionId, options });
  }

  startTurn(input: TurnInput, sessionId?: string, options: TurnOptions = {}): TurnHandle {
    return this.#turns.handle({ opening: () => inputOf(input), sessionId, options });
  }

  resumeTurn(sessionId: string, options: ResumeOptions = {}): Promise<TurnResult> {
    return this.#turns.run({ opening: () => decisionsOf(options), sessionId, options });
  }

  startResume(sessionId: string, options: ResumeOptions = {}): TurnHandle {
    return this.#turns.handle({ opening: () => decisionsOf(options), sessionId, options });
  }

  steer(sessionId: string, message: SteeringInput): boolean {
    const given = steeringInput(message);
    return this.#turns.live.on(sessionId)?.control.inbox.add("steering", given) === true;
  }

  async compact(sessionId: string, options: CompactOptions = {}): Promise<CompactResult> {
    this.#turns.live.checkOpen();
    return compactSession(this.#wiring, this.#host, sessionId, options);
  }

  explain(): Explanation {
    return explain(this.#wiring, this.#ports);
  }

  pendingCalls(sessionId: string): Promise<readonly DeferredCall[]> {
    return this.#stored.pending(sessionId);
  }

  async session(id: string): Promise<Session> {
    return this.#stored.read(id);
  }

  appendMessage(id: string, message: MessageInput | AgentMessage): Promise<AgentMessage> {
    return this.#stored.append(id, message, this.#wiring.settings.limits.turnLeaseMs);
  }

  setModel(model: ModelPort | string): void {
    const wiring = this.#wiring;
    const named = typeof model === "string";
    const port = named ? wiring.model : model;
    // A turn's own config is laid over the agent's: what was chosen here belongs to that one. A name belongs to the port it was chosen for.
    const config = { ...this.#ports.config, model: named ? model : undefined };
    this.#ports = { ...this.#ports, config };
    this.#wiring = { ...wiring, model: port, settings: resolveSettings(config, port.describe?.().contextWindow) };
  }

  async tools(): Promise<readonly ToolDef[]> {
    const { lister, providers, settings } = this.#wiring;
    const { signal } = new AbortController();
    const bound: ListBound = (listing) => this.#host.bounded(listing);
    const lists = await listTools(providers, { signal }, settings.onSecondaryFailure, bound);
    return [...lister.table(listingsOf(providers, lists)).defs];
  }

  async usage(sessionId: string): Promise<UsageRecord | undefined> {
    const { metadata } = await this.session(sessionId);
    return decodeUsageRecord(metadata[SESSION_KEYS.usage]);
  }

  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** No new turns; running ones get `drainMs`, then an abort; lifecycles close in reverse order. Once, however often it is called; all failures in one `AggregateError` (A2). */
  shutdown(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #close(): Promise<void> {
    const { runtime, settings } = this.#wiring;
    await this.#turns.live.drain(runtime, settings.limits.drainMs);
    this.#host.close();
    const failures = this.#wiring.lister.close();
    failures.push(...(await stopAll(this.#ports.lifecycles ?? [])));
    if (failures.length > 0) throw new AggregateError(failures, "the agent did not shut down cleanly");
  }
}

function inputOf(input: TurnInput): Opening {
  return { type: "input", messages: turnInput(input) };
}

function decisionsOf({ decisions }: ResumeOptions): Opening {
  return { type: "resume", decisions: givenDecisions(decisions) };
}

/** The single failures of a shut-down. */
function failuresOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
}
