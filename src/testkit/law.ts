import { pendingCalls } from "../domain/deferred-calls.js";
import type { AgentMessage } from "../domain/message.js";
import type { Session } from "../domain/session.js";
import { openCalls, orderResults } from "../domain/transcript.js";
import { transcriptLaw, type TranscriptViolation } from "../domain/transcript-law.js";

/** Messages, or a session, whose metadata says which calls are pending. */
export type Transcript = readonly AgentMessage[] | Pick<Session, "messages" | "metadata">;

/** Calls that need no result; for a session default what its metadata says. */
export type LawOptions = { readonly pending?: readonly string[] | undefined };

/** The law of transcripts for what is stored, which is in the order in which results came. */
export function storedLaw(source: Transcript, options: LawOptions = {}): TranscriptViolation[] {
  const messages = "messages" in source ? source.messages : source;
  const waiting = "messages" in source ? pendingOf(source) : [];
  return transcriptLaw(orderResults(messages), { pending: options.pending ?? waiting });
}

/** Throws unless what is stored keeps the law of transcripts; the error has a line for each violation. */
export function assertTranscriptLaw(source: Transcript, options: LawOptions = {}): void {
  const violations = storedLaw(source, options);
  if (violations.length > 0) throw new Error(lawText(violations));
}

/** The violations as a text of several lines. */
export function lawText(violations: readonly TranscriptViolation[]): string {
  const places = violations.length === 1 ? "1 place" : `${violations.length} places`;
  return [`the transcript breaks the law in ${places}:`, ...violations.map(({ text }) => `  ${text}`)].join("\n");
}

function pendingOf({ messages, metadata }: Pick<Session, "messages" | "metadata">): string[] {
  return pendingCalls({ metadata, openCalls: openCalls(messages) }).map(({ callId }) => callId);
}
