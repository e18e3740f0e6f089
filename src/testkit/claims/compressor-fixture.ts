import { estimateAll } from "../../domain/estimate.js";
import { isJsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { CompressAction, CompressContext, Compressor, ContextMessages } from "../../ports/compressor.js";
import type { Claim, Fixture } from "./claim.js";
import { type SampleConversation, sampleConversations } from "./compressor-samples.js";
import { settlesWithin } from "./expect-settled.js";
import { expectThat } from "./expectations.js";

/** A compressor that no session has asked yet. */
export type CompressorFixture = Fixture & {
  readonly compressor: Compressor;
  /** What makes it act on conversations of some 10,000 tokens, beside a window of half their size and the reason `"overflow"`. */
  readonly context?: Partial<CompressContext> | undefined;
  /** Makes whatever it asks wait until the signal fires; needed for `waits`. */
  hang?(): Awaitable<void>;
  /** Makes whatever it asks fail; needed for `fails`. */
  break?(): Awaitable<void>;
  /** How soon it must have answered, and have settled after an abort; default 1000. */
  readonly deadlineMs?: number | undefined;
};

/** `acts`: it makes conversations smaller. `waits`, `fails`: it asks something else, which may hang or fail. */
export type CompressorCapability = "acts" | "waits" | "fails";

/** A claim of `compressorClaims`. */
export type CompressorClaim = Claim<CompressorFixture, CompressorCapability>;

/** An action that does something. */
export type Proposal = Exclude<CompressAction, { type: "none" }>;

/** What a compressor answered to one conversation, and what a request shows then. */
export type Proposed = {
  readonly sample: SampleConversation;
  readonly action: Proposal;
  readonly after: ContextMessages;
};

const { signal: unaborted } = new AbortController();

/** Asks with a window that the conversation overflows twice. */
export function compressContext(
  messages: readonly AgentMessage[],
  given: Partial<CompressContext> = {},
): CompressContext {
  const estimatedTokens = estimateAll(messages);
  const modelContextWindow = Math.max(1_000, Math.ceil(estimatedTokens / 2));
  return { sessionId: "claims", reason: "overflow", modelContextWindow, estimatedTokens, signal: unaborted, ...given };
}

/** One answer; a list of its own is handed over. Fails the claim where none comes in time. */
export async function ask(
  fixture: CompressorFixture,
  messages: readonly AgentMessage[],
  given: Partial<CompressContext> = {},
): Promise<unknown> {
  const { compressor, context, deadlineMs = 1_000 } = fixture;
  const asking = async (): Promise<unknown> =>
    compressor.compress([...messages], compressContext(messages, { ...context, ...given }));
  const asked = asking();
  expectThat(await settlesWithin(asked, deadlineMs), `compress has settled within ${deadlineMs} ms`);
  return asked;
}

/** What it makes of every sample it acts on. What it answers wrongly to another claim's question is left out. */
export async function proposals(fixture: CompressorFixture): Promise<readonly Proposed[]> {
  const proposed: Proposed[] = [];
  for (const sample of sampleConversations()) {
    const answer = await ask(fixture, sample.messages).catch(() => undefined);
    if (!isAction(answer) || answer.type === "none") continue;
    proposed.push({ sample, action: answer, after: shownAfter(sample.messages, answer) });
  }
  expectThat(proposed.length > 0, "it acts on a sample, or the capability acts is declared missing");
  return proposed;
}

function shownAfter(messages: readonly AgentMessage[], action: Proposal): ContextMessages {
  if (action.type !== "replace") return action.messages;
  const cut = action.upTo === undefined ? messages.length - 1 : messages.findIndex(({ id }) => id === action.upTo);
  return [...action.messages, ...messages.slice(cut + 1)];
}

/** True for one of the four actions with the fields its type has. */
export function isAction(answer: unknown): answer is CompressAction {
  if (!isJsonObject(answer)) return false;
  const { type, messages, upTo, newSessionId, messagesBefore, messagesAfter } = answer;
  if (type === "none") return true;
  if (!Array.isArray(messages) || !messages.every(isMessageLike)) return false;
  if (type === "view") return true;
  if (type === "replace") return upTo === undefined || typeof upTo === "string";
  const counts = Number.isSafeInteger(messagesBefore) && Number.isSafeInteger(messagesAfter);
  return type === "newThread" && typeof newSessionId === "string" && newSessionId !== "" && counts;
}

function isMessageLike(message: unknown): boolean {
  return isJsonObject(message) && typeof message["role"] === "string";
}
