import type { TurnEvent } from "../domain/event.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import type { DeferredCall, Session, SessionPage, SessionQuery, UsageRecord } from "../domain/session.js";
import type { TextSource } from "../domain/text-lines.js";
import type { ToolDef } from "../domain/tool.js";
import type { TurnResult } from "../domain/turn-result.js";
import type { AgentConfig } from "./agent-config.js";
import type { Awaitable } from "./awaitable.js";
import type { Budget } from "./budget.js";
import type { CommandAccess } from "./command-access.js";
import type { Explanation } from "./explanation.js";
import type { Decision, PipelineHook } from "./hook.js";
import type { MemoryAccess } from "./memory.js";
import type { ModelPort } from "./model.js";
import type { Observer } from "./observer.js";
import type { StepScope } from "./step-scope.js";
import type { ToolProvider } from "./tool-provider.js";

/** A string is one user message; content parts, names and metadata need a message. */
export type TurnInput = string | MessageInput | readonly MessageInput[];

/** What one turn may have beside its input. */
export type TurnOptions = {
  /** Ends the turn as `aborted` (L5). */
  readonly signal?: AbortSignal | undefined;
  /** Inside the agent's hooks (H2). */
  readonly hooks?: readonly PipelineHook[] | undefined;
  readonly observers?: readonly Observer[] | undefined;
  /** Asked instead of the agent's, under its own name unless `config.model` gives another. */
  readonly model?: ModelPort | undefined;
  /** Added to the agent's; a name already taken fails the turn. */
  readonly tools?: readonly ToolProvider[] | undefined;
  /** Laid over the agent's; a field that is `undefined` leaves the agent's. */
  readonly config?: AgentConfig | undefined;
  /** Beside the agent's own (A5). */
  readonly budget?: Budget | undefined;
  /** Takes a session over at once from a turn that seems to be alive elsewhere (S2). */
  readonly takeOver?: boolean | undefined;
  /** Lets a turn run on a session that was redirected (S5). */
  readonly fork?: boolean | undefined;
  /** For durable callers: the id, start time (epoch milliseconds) and scope of the turn, which serves no other meanwhile. */
  readonly turnId?: string | undefined;
  readonly startedAt?: number | undefined;
  readonly stepScope?: StepScope | undefined;
};

/** What a resumed turn may have. */
export type ResumeOptions = TurnOptions & {
  /** About calls that wait for one, by call id; each is accepted once (U5). */
  readonly decisions?: readonly Decision[] | undefined;
};

/** A message for a turn that runs; a string is a user message. Replies and tool results are refused. */
export type SteeringInput = string | MessageInput;

/** Gets events in order; the turn's result waits for the promise it returns for the terminal event (T7). */
export type EventListener = (event: TurnEvent) => Awaitable<void>;

/** A running turn. */
export interface TurnHandle extends AsyncIterable<TurnEvent> {
  readonly id: string;
  /** Rejects with `AgentError`; never an unhandled rejection when nobody reads it. */
  readonly result: Promise<TurnResult>;
  /** A listener that comes later first gets what it missed. Returns how to stop. */
  subscribe(listener: EventListener): () => void;
  /**
   * Text only, each piece as it comes; what was given is never taken back. So after a `reset` (a retry, a rewriting hook) of a reply of
   * which text was given, no more of it comes before it is whole; then comes its rest if it begins with what was given, else nothing.
   * A reply that ends in failure or abort gives no rest. At the end of a turn that failed it throws what `result` rejects with. Follow the events
   * where the exact text counts. The same rules as for events.
   */
  text(): AsyncIterable<string>;
  /**
   * Adds a message before the next model call, behind the results of a running batch. True until the result is built: the message is then
   * in the session once, or in `undelivered`. False after that. Throws `AgentError("invalid-input")` for what is no message (L3).
   */
  steer(message: SteeringInput): boolean;
  /** The same for the moment when the turn would end: it goes on with the message instead. */
  followUp(message: SteeringInput): boolean;
  /**
   * Stops a model call that runs, keeping what was said as `stopped: "interrupted"`; in a batch running calls finish, others are skipped. Then
   * steering that waits goes on as a new round; without any the turn ends as `stopped` (L4). Repeated or late calls do nothing.
   */
  interrupt(): void;
  /** Ends the turn as `aborted`; repeated or late calls do nothing. */
  abort(reason?: string): void;
}

/** `signal` ends a compaction that takes too long; `turnTimeoutMs` does too. Nothing is written then. */
export type CompactOptions = { readonly signal?: AbortSignal | undefined };

/** What compacting a session came to. Counts are messages of a request. */
export type CompactResult = {
  /** Where the conversation goes on: another session after `newThread` (S5). */
  readonly sessionId: string;
  readonly changed: boolean;
  readonly before: number;
  readonly after: number;
};

/** Under which id a session is stored, its own by default, a new one where it has none; `replace` lets it take the place of what is there. */
export type ImportOptions = { readonly id?: string | undefined; readonly replace?: boolean | undefined };

/** Sessions beside the running conversation; built on `load` and `save`, under the session's lock. */
export type SessionAccess = {
  /** Rejects with `SessionError("load")` when the first store cannot list. */
  list(query?: SessionQuery): Promise<SessionPage>;
  /**
   * Copies the session up to and including message `atMessage` (default all) to a new id, which it returns: messages, the user's metadata, fields of later versions. A
   * call that waits for a decision is not executed in the copy. Rejects for a session or a message that is not there, and has made nothing.
   */
  fork(id: string, atMessage?: string): Promise<string>;
  /**
   * The session as lines of text, for a file or a body: as it is at the revision it has when the first line is asked for, whatever a turn writes meanwhile.
   * Of a turn that runs it holds what is stored by then, and never its lease; a resumed turn settles the calls without a result. Throws `AgentError`,
   * also for an id nobody has written.
   */
  export(id: string): AsyncIterable<string>;
  /**
   * Stores what `export` wrote, in pieces of any size, or a session, in all stores; answers its id. Everything is read before anything is written: what is cut,
   * damaged or foreign is `AgentError("invalid-input")` naming the line, and changes nothing. Where a session has the id already it is
   * `AgentError("session")`, cause `conflict`, unless `replace`.
   */
  import(source: Session | TextSource, options?: ImportOptions): Promise<string>;
  /** Rejects with `SessionError("save")`, and has deleted nothing, when one of the stores cannot delete. */
  delete(id: string): Promise<void>;
};

/** An agent as commands, hooks, agent-tools and hosts see it. */
export interface AgentApi {
  /** One turn to its end. Without a session id a new one is made (`finalSessionId`). Rejects with `AgentError`. */
  runTurn(input: TurnInput, sessionId?: string, options?: TurnOptions): Promise<TurnResult>;
  /** The same turn as a handle; it starts in the next microtask (T8). */
  startTurn(input: TurnInput, sessionId?: string, options?: TurnOptions): TurnHandle;
  /**
   * Goes on with a stored conversation without new input: after a crash, an error, an abort, or with decisions about deferred calls (S6, U5).
   * Rejects with `AgentError`: `nothing-to-resume` where the last reply is whole, `invalid-input` for a decision that nobody waits for.
   */
  resumeTurn(sessionId: string, options?: ResumeOptions): Promise<TurnResult>;
  /** The same as a handle. */
  startResume(sessionId: string, options?: ResumeOptions): TurnHandle;
  /** `steer` of the turn that runs on the session in this agent; false where none does. */
  steer(sessionId: string, message: SteeringInput): boolean;
  /** The calls of a session, or of the one it went on in, that wait for a decision, read anew: what `resumeTurn` takes decisions about. */
  pendingCalls(sessionId: string): Promise<readonly DeferredCall[]>;
  /** The stored session, read anew. */
  session(id: string): Promise<Session>;
  readonly sessions: SessionAccess;
  /**
   * Adds a message between turns, and returns it as stored. Waits for a turn of this agent on the session; rejects with `AgentError("session")` where
   * another process has it, or where the conversation went on in another session (S5). One that a model sees settles calls without a result, as input does: those that wait for a decision are rejected.
   */
  appendMessage(id: string, message: MessageInput | AgentMessage): Promise<AgentMessage>;
  /**
   * Asks the compressors to make the conversation smaller; the first that does wins (C1). Waits for a turn of this agent on the session. Rejects
   * with `AgentError`: `session` where another process has it or calls wait for a decision, `runtime` after an abort.
   */
  compact(sessionId: string, options?: CompactOptions): Promise<CompactResult>;
  /** How the agent is wired, as data and as text: adapters, hook order, tools as last listed, commands, limits (A4). Holds no key, prompt or message. */
  explain(): Explanation;
  /** For turns that start from now on: another port, which goes by its own model's name, or another model name for the same port. */
  setModel(model: ModelPort | string): void;
  /** The tools as listed now; each provider may take `storeTimeoutMs`. */
  tools(): Promise<readonly ToolDef[]>;
  readonly memory: MemoryAccess;
  readonly commands: CommandAccess;
  /** What a session has used; nothing for one without a turn. */
  usage(sessionId: string): Promise<UsageRecord | undefined>;
  /** Events of all turns of this agent. Returns how to stop. */
  subscribe(listener: EventListener): () => void;
}
