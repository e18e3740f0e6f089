import { expect } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import { isTerminal, type TurnEvent } from "../../src/domain/event.js";
import { type AgentMessage, isMessage, type ToolMessage } from "../../src/domain/message.js";
import { SESSION_KEYS, type DeferredCall } from "../../src/domain/session.js";
import type { Stage, StageKind, StageOf } from "../../src/domain/stage.js";
import type { ToolCall } from "../../src/domain/tool.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { Awaitable } from "../../src/ports/awaitable.js";
import type { PipelineHook, StageContext } from "../../src/ports/hook.js";
import { type TestAgent, toolCallsResponse } from "../../src/testkit/index.js";

/** What a turn rejects with; fails the test when it is no `AgentError`, or when the turn does not reject. */
export async function rejectionOf(work: Promise<unknown>): Promise<AgentError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AgentError)) throw new Error(`expected an AgentError, got ${String(error)}`);
  return error;
}

/** A promise that never settles. */
export const never = (): Promise<never> => Promise.withResolvers<never>().promise;

/** A call of `name` without arguments. */
export const call = (name: string, id: string, args: ToolCall["arguments"] = {}): ToolCall => ({
  id,
  name,
  arguments: args,
});

/** A reply that calls the tools of these names with the ids c1, c2 and so on. */
export const callsOf = (...names: readonly string[]) =>
  toolCallsResponse(...names.map((name, index) => call(name, `c${index + 1}`)));

/** A hook of one function at some stages; it may return anything, as JavaScript does. Without a name it is called by its position. */
export function hookAt<K extends StageKind>(
  kinds: K | readonly K[],
  onStage: (stage: StageOf<K>, context: StageContext) => unknown,
  name?: string,
): PipelineHook {
  const stages: readonly StageKind[] = typeof kinds === "string" ? [kinds] : kinds;
  const ask = onStage as unknown as (stage: Stage, context: StageContext) => Awaitable<undefined>;
  return { ...(name === undefined ? undefined : { name }), stages, onStage: ask };
}

/** The tool results among messages, in their order. */
export const resultsIn = (messages: readonly AgentMessage[]): ToolMessage[] =>
  messages.filter((message): message is ToolMessage => isMessage(message) && message.role === "tool");

/** The text of a tool result: its parts, else its data as JSON. */
export function resultText(message: ToolMessage | undefined): string {
  if (message === undefined) return "";
  const text = message.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("");
  return text === "" && message.structured !== undefined ? JSON.stringify(message.structured) : text;
}

/** The texts of the tool results in the last request the model got, by call id. */
export function toldResults(t: TestAgent): Record<string, string> {
  const messages = t.model.requests.at(-1)?.messages ?? [];
  return Object.fromEntries(resultsIn(messages).map((message) => [message.toolCallId, resultText(message)]));
}

/** Fails the test unless the stored session is lawful, apart from the calls it says are pending. */
export async function expectLawful(t: TestAgent, sessionId: string): Promise<void> {
  const { messages, metadata } = await t.agent.session(sessionId);
  const deferred = (metadata[SESSION_KEYS.deferred] ?? []) as readonly DeferredCall[];
  expect(transcriptLaw(orderResults(messages), { pending: deferred.map(({ callId }) => callId) })).toEqual([]);
}

/** The types of the terminal events. */
export const terminals = (events: readonly TurnEvent[]): string[] =>
  events.map(({ type }) => type).filter((type) => isTerminal(type));

/** Rejections nobody handled while `work` ran and in the macrotask after it. */
export async function unhandledDuring(work: () => Promise<void>): Promise<unknown[]> {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", note);
  try {
    await work();
    await new Promise<void>((resolve) => void setImmediate(resolve));
    return seen;
  } finally {
    process.off("unhandledRejection", note);
  }
}
