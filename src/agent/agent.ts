import { checkFields } from "../domain/known-fields.js";
import { AgentError, Defect } from "../domain/errors.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import { type Session, SESSION_KEYS, type UsageRecord } from "../domain/session.js";
import type { ToolDef } from "../domain/tool.js";
import type { TurnResult } from "../domain/turn-result.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import type { AgentApi, EventListener, SessionAccess, TurnHandle, TurnInput, TurnOptions } from "../ports/agent-api.js";
import type { CommandAccess } from "../ports/command-access.js";
import type { MemoryAccess } from "../ports/memory.js";
import type { ModelPort } from "../ports/model.js";
import { type AgentPorts, PORT_NAMES } from "./agent-ports.js";
import { CommandTable } from "./command-table.js";
import { compose, composeStores, forTurn } from "./composition.js";
import { invalidInput } from "./invalid-input.js";
import { type Launch, launch, type LaunchOptions } from "./launch.js";
import { StoredSessions } from "./session-access.js";
import { SessionHost } from "./session-host.js";
import { resolveSettings } from "./settings.js";
import { LiveTurns, startAll, stopAll } from "./shutdown.js";
import { systemRuntime } from "./system-runtime.js";
import { type ListBound, listingsOf, listTools } from "./tool-table.js";
import { appendable, turnInput } from "./turn-input.js";
import { RunningTurn } from "./turn-handle.js";
import { busy } from "./turn-sessions.js";
import type { Wiring } from "./wiring.js";

/** An agent: ports wired to one loop. Many may live in one process and share adapters (A3). */
export class Agent implements AgentApi {
  readonly commands: CommandAccess;
  readonly memory: MemoryAccess;
  readonly sessions: SessionAccess;
  #ports: AgentPorts;
  readonly #host: SessionHost;
  readonly #stored: StoredSessions;
  readonly #turns = new LiveTurns();
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

  async runTurn(input: TurnInput, sessionId?: string, options: TurnOptions = {}): Promise<TurnResult> {
    const made = this.#launch(input, sessionId, options);
    // In the next microtask, like every other turn: the order of the calls is the order of the turns (T1, T8).
    await Promise.resolve();
    return this.#start(made);
  }

  startTurn(input: TurnInput, sessionId?: string, options: TurnOptions = {}): TurnHandle {
    const made = this.#launch(input, sessionId, options);
    return new RunningTurn(made.run.turnId, made.bus, made.control, () => this.#start(made));
  }

  async session(id: string): Promise<Session> {
    return this.#stored.read(id);
  }

  async appendMessage(id: string, message: MessageInput | AgentMessage): Promise<AgentMessage> {
    const { runtime, settings } = this.#wiring;
    const operationId = runtime.newId();
    const added = appendable(message, `${operationId}.0`, runtime.now());
    const unlock = await this.#host.lock(id);
    try {
      this.#host.forget(id);
      const stored = await this.session(id);
      if (this.#host.isAlive(id, stored.metadata, "", settings.limits.turnLeaseMs)) throw busy(id);
      const delta = { operationId, baseRevision: stored.revision, messages: [added] };
      await this.#host.ask("append to", id, (stores) => stores.add(id, stored, delta));
      return added;
    } finally {
      unlock();
    }
  }

  setModel(model: ModelPort | string): void {
    const wiring = this.#wiring;
    const named = typeof model === "string";
    const port = named ? wiring.model : model;
    // A turn's own config is laid over the agent's: what was chosen here belongs to that one.
    const config = named ? { ...this.#ports.config, model } : (this.#ports.config ?? {});
    this.#ports = { ...this.#ports, config };
    this.#wiring = { ...wiring, model: port, settings: resolveSettings(config, port.describe?.().contextWindow) };
  }

  async tools(): Promise<readonly ToolDef[]> {
    const { lister, providers, settings } = this.#wiring;
    const { signal } = new AbortController();
    const bound: ListBound = async (listing) => {
      const outcome = await this.#host.bounded(() => listing);
      if (outcome.ok) return outcome.value;
      throw outcome.error;
    };
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
    await this.#turns.drain(runtime, settings.limits.drainMs);
    this.#host.close();
    const failures = this.#wiring.lister.close();
    failures.push(...(await stopAll(this.#ports.lifecycles ?? [])));
    if (failures.length > 0) throw new AggregateError(failures, "the agent did not shut down cleanly");
  }

  #launch(input: TurnInput, sessionId: string | undefined, options: TurnOptions): Launch {
    const { runtime } = this.#wiring;
    const turnId = options.turnId ?? runtime.newId();
    const made = launch({
      ...this.#prepare(input, options),
      host: this.#host,
      sessionId: sessionId ?? runtime.newId(),
      turnId,
      onEnd: () => this.#turns.delete(made.control),
    });
    for (const listener of this.#listeners) made.bus.listen(listener);
    return made;
  }

  /** Copies the input at once, so that the caller may change its own; what is wrong with it, or with the options, is thrown when the turn starts. */
  #prepare(input: TurnInput, options: TurnOptions): Pick<LaunchOptions, "wiring" | "options" | "input"> {
    try {
      const wiring = forTurn(this.#wiring, this.#ports, options);
      const messages = turnInput(input);
      return { wiring, options, input: () => (this.#turns.checkOpen(), messages) };
    } catch (error) {
      const refuse = (): never => {
        this.#turns.checkOpen();
        throw invalid(error);
      };
      return { wiring: this.#wiring, options: { signal: options.signal }, input: refuse };
    }
  }

  #start(made: Launch): Promise<TurnResult> {
    return this.#turns.run(made.control, made.start);
  }
}

/** What is wrong with the input or options of a turn; a `Defect` stays one. */
function invalid(error: unknown): unknown {
  if (Defect.is(error) || error instanceof AgentError) return error;
  return invalidInput(error);
}

/** The single failures of a shut-down. */
function failuresOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
}
