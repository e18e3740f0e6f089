import { expect } from "vitest";
import { type AgentMessage, isMessage, textOf } from "../../src/domain/message.js";
import type { LoadedSession, Revision, SessionDelta } from "../../src/domain/session.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import { RecordingSessionStore, type TestAgent } from "../../src/testkit/index.js";

/** A recording store that tells when it is asked, before it does anything. */
export class ToldStore extends RecordingSessionStore {
  onLoad: () => void = () => undefined;
  onAppend: (delta: SessionDelta) => void = () => undefined;

  override load(...args: Parameters<RecordingSessionStore["load"]>): Promise<LoadedSession> {
    this.onLoad();
    return super.load(...args);
  }

  override append(...args: Parameters<RecordingSessionStore["append"]>): Promise<Revision> {
    this.onAppend(args[1]);
    return super.append(...args);
  }
}

const hasText = (text: string) => (message: AgentMessage) => isMessage(message) && textOf(message) === text;

/** How often a message of this text is among messages. */
export const countOf = (text: string, messages: readonly AgentMessage[] = []): number =>
  messages.filter(hasText(text)).length;

/** The number of the first request that held a message of this text; -1 where none did. */
export const firstSent = (t: Pick<TestAgent, "model">, text: string): number =>
  t.model.requests.findIndex(({ messages }) => countOf(text, messages) > 0);

/**
 * What was accepted is in the session once or told as undelivered, and what was refused is in neither; no request and no session has anything
 * between a call and its result.
 */
export async function expectDelivered(
  t: Pick<TestAgent, "agent" | "model">,
  given: { readonly text: string; readonly accepted: boolean | undefined; readonly id?: string },
  over: Pick<TurnResult, "undelivered" | "finalSessionId">,
): Promise<"session" | "undelivered" | "refused"> {
  const { text, accepted, id = over.finalSessionId } = given;
  const { messages } = await t.agent.session(id);
  const inSession = countOf(text, messages);
  const told = countOf(text, over.undelivered);
  expect(accepted).toBeTypeOf("boolean");
  expect(inSession + told).toBe(accepted === true ? 1 : 0);
  for (const { messages: sent } of t.model.requests) expect(transcriptLaw(sent)).toEqual([]);
  return accepted !== true ? "refused" : inSession === 1 ? "session" : "undelivered";
}
