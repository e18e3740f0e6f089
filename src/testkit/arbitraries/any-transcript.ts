import fc, { type Arbitrary } from "fast-check";
import {
  type AssistantPart,
  assistantMessage,
  type Message,
  type MessageInput,
  toolResultMessage,
} from "../../domain/message.js";
import type { ToolCall, ToolOutcome, ToolResult } from "../../domain/tool.js";
import { anyCallBody, anyMessage, anyOutcome, anyReplyPart, anyToolResult } from "./any-message.js";

/** A conversation that keeps the law of transcripts. `pending` are the ids of its calls that need no result. */
export type AnyTranscript = { readonly messages: readonly Message[]; readonly pending: readonly string[] };

/** What kind of conversations. */
export type TranscriptOptions = {
  /** `"source"` (default): results in the order of the calls, as models are sent them; `"stored"`: in the order in which they came. */
  readonly order?: "source" | "stored" | undefined;
  /** Lets calls of the last reply wait for a person; default false. */
  readonly pending?: boolean | undefined;
  /** How many things are said at most; default 6. */
  readonly maxLength?: number | undefined;
};

/** One call with what came of it; `rank` says when it came among its neighbours. */
type Called = {
  readonly body: Omit<ToolCall, "id">;
  readonly result: ToolResult;
  readonly outcome: ToolOutcome;
  readonly rank: number;
  readonly waits: boolean;
  readonly again: boolean;
};

/** Something that is said: a message, or a reply with calls. */
type Said =
  | { readonly message: MessageInput }
  | { readonly parts: readonly AssistantPart[]; readonly calls: readonly Called[] };

/**
 * Legal conversations: every call has one result, in a group right behind its reply. Ids of calls are mostly `c0`, `c1` and so on, now and then one
 * that an earlier reply used; ids of messages are `m0`, `m1`. Shrinks to few messages with little in them.
 */
export function anyTranscript(options: TranscriptOptions = {}): Arbitrary<AnyTranscript> {
  const { order = "source", pending = false, maxLength = 6 } = options;
  const called = fc.record<Called>({
    body: anyCallBody(),
    result: anyToolResult(),
    outcome: anyOutcome(),
    rank: fc.nat(9),
    waits: pending ? fc.boolean() : fc.constant(false),
    again: fc.nat(9).map((n) => n === 9),
  });
  const reply = fc.record({
    parts: fc.array(anyReplyPart(), { maxLength: 2 }),
    calls: fc.array(called, { minLength: 1, maxLength: 3 }),
  });
  const said: Arbitrary<Said> = fc.oneof(
    { withCrossShrink: true },
    anyMessage().map((message) => ({ message })),
    reply,
  );
  return fc.array(said, { maxLength }).map((all) => transcriptOf(all, order));
}

function transcriptOf(all: readonly Said[], order: "source" | "stored"): AnyTranscript {
  const messages: Message[] = [];
  const pending: string[] = [];
  let calls = 0;
  const add = (input: MessageInput): void => {
    messages.push({ ...input, id: `m${messages.length}`, at: messages.length } as Message);
  };
  all.forEach((said, place) => {
    if ("message" in said) return add(said.message);
    const first = calls;
    const made = said.calls.map((called) => {
      const number = calls++;
      // An id may come again in a later reply, never within one.
      const id = `c${called.again && first > 0 ? number % first : number}`;
      return { ...called, call: { id, ...called.body } };
    });
    const asked = uniquely(made);
    add(assistantMessage([...said.parts, ...asked.map(({ call }) => ({ type: "toolCall" as const, ...call }))]));
    const isLast = place === all.length - 1;
    const answered = asked.filter(({ waits }) => !(waits && isLast));
    if (isLast) pending.push(...asked.filter(({ waits }) => waits).map(({ call }) => call.id));
    const came = order === "source" ? answered : [...answered].sort((a, b) => a.rank - b.rank);
    for (const { call, result, outcome } of came) add(toolResultMessage(call, result, outcome));
  });
  return { messages, pending };
}

function uniquely<T extends { readonly call: ToolCall }>(made: readonly T[]): T[] {
  const seen = new Set<string>();
  return made.filter(({ call }) => {
    const fresh = !seen.has(call.id);
    seen.add(call.id);
    return fresh;
  });
}
