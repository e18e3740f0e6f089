import { adopt } from "../../src/domain/adopt.js";
import {
  type AgentMessage,
  type AssistantMessage,
  isMessage,
  textOf,
  toolCallsOf,
  type ToolMessage,
  type UserMessage,
} from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { ToolCall } from "../../src/domain/tool.js";
import type { LoadedSession, Revision, SaveOptions, Session, SessionDelta } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import type { TestAgent } from "../../src/testkit/index.js";

const AT = 1_735_000_000_000;

/** A stored message of the user; its text is its id unless told otherwise. */
export const user = (id: string, text = id): UserMessage =>
  adopt({ role: "user", id, at: AT, content: [{ type: "text", text }] }, "user");

/** A stored reply without calls. */
export const reply = (id: string, text = id, extras: Partial<AssistantMessage> = {}): AssistantMessage =>
  adopt({ role: "assistant", id, at: AT, parts: text === "" ? [] : [{ type: "text", text }], ...extras }, "reply");

/** A stored reply that calls the tool `f` under each of these ids. */
export const calling = (id: string, ...callIds: readonly string[]): AssistantMessage => {
  const parts = callIds.map((callId) => ({ type: "toolCall" as const, id: callId, name: "f", arguments: {} }));
  return adopt({ role: "assistant", id, at: AT, parts }, "calling");
};

/** A stored reply of these calls. */
export const callingWith = (id: string, ...calls: readonly ToolCall[]): AssistantMessage => {
  const parts = calls.map((call) => ({ type: "toolCall" as const, ...call }));
  return adopt({ role: "assistant", id, at: AT, parts }, "calling");
};

/** A stored result of a call. */
export const result = (id: string, toolCallId: string, text = `${toolCallId} done`): ToolMessage => {
  const content = [{ type: "text" as const, text }];
  const body = { toolCallId, toolName: "f", content, isError: false, outcome: "completed" as const };
  return adopt({ role: "tool", id, at: AT, ...body }, "result");
};

/** One word a message: `user hi`, `assistant hello`, `calls c1,c2`, `c1 = text`, with `!` for an error. */
export function lineOf(message: AgentMessage): string {
  if (!isMessage(message)) return `custom ${JSON.stringify(message)}`;
  if (message.role === "tool") return `${message.toolCallId} = ${message.isError ? "!" : ""}${textOf(message)}`;
  const calls = message.role === "assistant" ? toolCallsOf(message) : [];
  const text = textOf(message);
  return calls.length === 0 ? `${message.role} ${text}` : `calls ${calls.map(({ id }) => id).join(",")}${text}`;
}

export const linesOf = (messages: readonly AgentMessage[] = []): string[] => messages.map(lineOf);

/** The lines of the request the model got last, or of the nth. */
export const sent = (t: Pick<TestAgent, "model">, nth = -1): string[] => linesOf(t.model.requests.at(nth)?.messages);

/** The lines of what is stored. */
export const stored = async (t: Pick<TestAgent, "agent">, id = "s"): Promise<string[]> =>
  linesOf((await t.agent.session(id)).messages);

/** The lease in a session's metadata. */
export const leaseOf = (session: Pick<Session, "metadata">): unknown => session.metadata[SESSION_KEYS.turn];

/** A store without `append`: everything else is the inner store's. */
export class SaveOnlyStore implements SessionStore {
  readonly name = "save only";
  readonly #inner: SessionStore;

  constructor(inner: SessionStore) {
    this.#inner = inner;
  }

  load(id: string): Promise<LoadedSession> {
    return this.#inner.load(id);
  }

  save(id: string, session: Session, options?: SaveOptions): Promise<Revision> {
    return this.#inner.save(id, session, options);
  }
}

/** Somebody else's compared write: the same store, no lock, no lease. */
export async function writeElsewhere(
  store: SessionStore,
  id: string,
  change: Partial<SessionDelta>,
): Promise<Revision | undefined> {
  const { revision } = await store.load(id);
  const operationId = `elsewhere.${revision}`;
  return store.append?.(id, { operationId, baseRevision: revision, messages: [], ...change });
}
