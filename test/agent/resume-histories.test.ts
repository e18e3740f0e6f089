import fc from "fast-check";
import { expect, test } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import { type AgentMessage, isMessage, type Message, textOf, toolCallsOf } from "../../src/domain/message.js";
import { type DeferredCall, type Session, SESSION_KEYS } from "../../src/domain/session.js";
import type { ToolCall } from "../../src/domain/tool.js";
import { openCalls, orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { Decision } from "../../src/ports/hook.js";
import {
  RecordingSessionStore,
  type RecordingToolProvider,
  stopResponse,
  testAgent,
  testRuntime,
} from "../../src/testkit/index.js";
import { callingWith, reply, result, user } from "../support/conversations.js";
import { annotated, approve, IDEMPOTENT, READ_ONLY, reject } from "../support/resuming.js";
import { call } from "../support/turns.js";

const TOOLS = ["read", "put", "pay", "gone"];
const TOOL_COUNT = TOOLS.length;

const calls = fc.array(
  fc.record({ tool: fc.nat(TOOL_COUNT - 1), malformed: fc.integer({ min: 0, max: 9 }), place: fc.nat(9) }),
  { minLength: 1, maxLength: 4 },
);
const round = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("tools" as const), calls, cut: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("says", "stopped", "silent", "note", "system") }) },
);
/** A whole history of turns, where it is cut, what is lost of it, and what is decided then. */
const history = fc.record({
  turns: fc.array(fc.array(round, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  cut: fc.nat(100),
  lost: fc.nat(40),
  deferred: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  decided: fc.array(fc.constantFrom("approved", "rejected", "open"), { minLength: 4, maxLength: 4 }),
  abortAt: fc.nat(30),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;
type Round = History["turns"][number][number];

function roundMessages(id: string, made: Round): AgentMessage[] {
  switch (made.kind) {
    case "tools": {
      const asked = made.calls.map(({ tool, malformed }, order): ToolCall => {
        const whole = call(TOOLS[tool] ?? "", `${id}.${order}`);
        return malformed === 0 ? { ...whole, malformed: { raw: "{", reason: "cut" } } : whole;
      });
      const message = {
        ...callingWith(id, ...asked),
        ...(made.cut === 0 ? { finishReason: "length" as const } : undefined),
      };
      const results = asked.map(({ id: callId }) => result(`${callId} result`, callId));
      // In the order in which they ended.
      const ended = results.map((each, index) => ({ each, place: made.calls[index]?.place ?? 0 }));
      return [message, ...ended.sort((a, b) => a.place - b.place).map(({ each }) => each)];
    }
    case "stopped":
      return [reply(id, "half", { stopped: "aborted" })];
    case "note":
      return [{ role: "note", id, at: 1, text: "seen" } as unknown as AgentMessage];
    case "system":
      return [{ ...user(id), role: "system" } as AgentMessage];
    default:
      return [reply(id, made.kind === "silent" ? "" : id)];
  }
}

/** The stored session of a process that died: a beginning of the history, with a record of what waited. */
function crashed({ turns, cut, lost, deferred }: History): Omit<Session, "revision"> {
  const whole = turns.flatMap((rounds, turn) => [
    user(`u${turn}`),
    ...rounds.flatMap((made, index) => roundMessages(`t${turn}r${index}`, made)),
  ]);
  const kept = whole.slice(0, Math.ceil((cut / 100) * whole.length));
  const messages = kept.filter((message, index) => index !== lost || message.role !== "tool");
  const open = openCalls(messages);
  const last = messages.findLast((message) => message.role === "assistant" && message.stopped === undefined);
  const waiting = open.filter(({ message, order, call: { malformed } }) => {
    return message === last && malformed === undefined && message.finishReason !== "length" && deferred[order] === true;
  });
  const records = waiting.map(({ message, order, call: { id, name } }) => {
    return { callId: id, executionId: `${message.id}.${order}`, toolName: name, arguments: {}, reason: "ask", at: 1 };
  });
  return { messages, metadata: records.length === 0 ? {} : { [SESSION_KEYS.deferred]: records } };
}

const recordsOf = ({ metadata }: Pick<Session, "metadata">): readonly DeferredCall[] =>
  (metadata[SESSION_KEYS.deferred] ?? []) as readonly DeferredCall[];

function decisionsOf(session: Omit<Session, "revision">, decided: History["decided"]): Decision[] {
  return recordsOf(session).flatMap(({ callId }, index): Decision[] => {
    if (decided[index] === "open") return [];
    return [decided[index] === "approved" ? approve(callId) : reject(callId)];
  });
}

/** A process of its own: resumes the session, and answers how that ended. */
async function resume(
  store: RecordingSessionStore,
  tools: RecordingToolProvider,
  options: { readonly decisions?: readonly Decision[]; readonly abortAt?: number; readonly number: number },
) {
  const runtime = testRuntime({ startAt: 1_000_000 * options.number });
  await using t = await testAgent({ script: [stopResponse("done")], tools, sessions: [store], runtime });
  const turn = t.agent.startResume("s", { takeOver: true, decisions: options.decisions ?? [] });
  turn.subscribe(({ seq }) => {
    if (seq === options.abortAt) turn.abort("random");
  });
  const ended = await turn.result.catch((error: unknown) => error);
  for (const { messages } of t.model.requests) {
    expect(transcriptLaw(messages)).toEqual([]);
    expect(messages.at(-1)?.role).not.toBe("assistant");
  }
  return { ended, asked: t.model.callCount };
}

async function play(made: History): Promise<void> {
  const session = crashed(made);
  const store = new RecordingSessionStore();
  store.seed("s", session);
  const tools = annotated({ read: READ_ONLY, put: IDEMPOTENT, pay: {} });
  const decisions = decisionsOf(session, made.decided);
  if (isOver(session.messages)) {
    const first = await resume(store, tools, { decisions, number: 1 });
    expect(first).toMatchObject({ ended: { kind: "nothing-to-resume" }, asked: 0 });
    expect([store.saveSnapshots(), tools.execRecords]).toEqual([[], []]);
    return;
  }
  const first = await resume(store, tools, { decisions, number: 1, abortAt: made.abortAt });
  if (first.ended instanceof AgentError) throw first.ended;
  // An abort before the session was taken leaves it as it was.
  if (store.saveSnapshots().length > 0) await check(store, session, tools, decisions);
  const second = await resume(store, tools, { number: 2 });
  await check(store, session, tools, decisions);
  const left = recordsOf(await store.load("s")).length;
  if (left > 0) expect(second).toMatchObject({ ended: { status: "deferred" }, asked: 0 });
  else expect([first.asked, second.asked]).toContain(1);
  const third = await resume(store, tools, { number: 3 });
  expect(third.asked).toBe(0);
}

/** The last word was a whole reply that left no call open, or there was none. */
function isOver(messages: readonly AgentMessage[]): boolean {
  const spoken = messages.filter((message): message is Message => isMessage(message));
  const last = spoken.findLast((message) => message.role !== "assistant" || message.stopped === undefined);
  return last === undefined || (last.role === "assistant" && toolCallsOf(last).length === 0);
}

async function check(
  store: RecordingSessionStore,
  before: Omit<Session, "revision">,
  tools: RecordingToolProvider,
  decisions: readonly Decision[],
): Promise<void> {
  const session = await store.load("s");
  const pending = recordsOf(session).map(({ callId }) => callId);
  expect(transcriptLaw(orderResults(session.messages), { pending })).toEqual([]);
  // What was stored stays as it was, finished results among it.
  expect(session.messages.slice(0, before.messages.length)).toEqual(before.messages);
  const open = openCalls(before.messages);
  const mayRun = new Set(open.map(({ message, order }) => `${message.id}.${order}`));
  const waited = new Set(recordsOf(before).map(({ callId }) => callId));
  const approved = new Set(decisions.flatMap(({ callId, approve: yes }) => (yes ? [callId] : [])));
  const paid = new Set<string>();
  for (const { callId, executionId, toolName } of tools.execRecords) {
    expect(mayRun).toContain(executionId);
    if (waited.has(callId)) expect(approved).toContain(callId);
    if (toolName !== "pay") continue;
    expect(approved).toContain(callId);
    expect(paid).not.toContain(executionId);
    paid.add(executionId);
  }
  for (const { call: never, message } of open) {
    if (never.malformed === undefined && message.finishReason !== "length") continue;
    expect(tools.execRecords.map(({ callId }) => callId)).not.toContain(never.id);
  }
}

test("whatever a killed process left, resuming ends with a lawful transcript, and what may have had an effect does not run again (S6, S4, U5)", async () => {
  await fc.assert(fc.asyncProperty(history, play), { numRuns: 400 });
});

test("the histories it tries hold every kind of end that a crash leaves", () => {
  const seen = new Set<string>();
  for (const made of fc.sample(history, { numRuns: 400, seed: 7 })) {
    const session = crashed(made);
    const open = openCalls(session.messages);
    const kinds = open.map(({ call: { malformed, name }, message: { finishReason } }) => {
      return malformed !== undefined ? "malformed" : (finishReason ?? name);
    });
    for (const kind of kinds) seen.add(kind);
    if (recordsOf(session).length > 0) seen.add("deferred");
    if (new Set(open.map(({ message }) => message)).size > 1) seen.add("lost");
    const last = session.messages.at(-1);
    if (last !== undefined) seen.add(`ends with ${last.role}`);
    if (last?.role === "assistant" && textOf(last) === "" && toolCallsOf(last).length === 0) seen.add("silent");
  }
  const ends = ["user", "assistant", "tool", "system", "note"].map((role) => `ends with ${role}`);
  const all = [...TOOLS, "malformed", "length", "deferred", "lost", "silent", ...ends];
  expect([...seen].sort()).toEqual(all.sort());
});
