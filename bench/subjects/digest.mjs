import { createHash } from "node:crypto";

/** A hash short enough to read in an error. */
export const hashOf = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** What was stored, as numbers and one hash over roles, texts, calls and results; the same for both variants when they did the same. */
export function storedDigest(sessions) {
  const hash = createHash("sha256");
  let messages = 0;
  for (const stored of sessions) {
    messages += stored.length;
    for (const line of lines(stored)) hash.update(line).update("\n");
  }
  return { sessions: sessions.length, messages, hash: hash.digest("hex").slice(0, 16) };
}

/** Results of one batch stand in the order in which they ended; which of two timers fires first is nobody's promise. */
function lines(stored) {
  const order = (a, b) => (a.role === "tool" && b.role === "tool" ? a.toolCallId.localeCompare(b.toolCallId) : 0);
  const ordered = [];
  for (let at = 0; at < stored.length; ) {
    let end = at + 1;
    while (end < stored.length && stored[at].role === "tool" && stored[end].role === "tool") end += 1;
    ordered.push(...stored.slice(at, end).sort(order));
    at = end;
  }
  return ordered.map(line);
}

function line({ role, content, parts, toolCallId, toolName, isError }) {
  const said = (content ?? parts).map(({ type, text, id, name, arguments: args }) => ({ type, text, id, name, args }));
  return JSON.stringify({ role, said, toolCallId, toolName, isError });
}

/** What `turns` turns of a script must leave behind, worked out from the script alone. */
export function expectedDigest({ replies, turns, turnsPerSession }) {
  const calls = replies.map((chunks) => new Set(chunks.filter(isCall).map((chunk) => chunk.index)).size);
  const perTurn = {
    chunks: sum(replies.map((chunks) => chunks.length)),
    calls: sum(calls),
    messages: 1 + replies.length + sum(calls),
    text: joined(replies.at(-1)),
  };
  const sent = sum(replies.map((_, round) => 1 + round + sum(calls.slice(0, round))));
  const sessions = Math.ceil(turns / turnsPerSession);
  const earlier = (count) => (count * (count - 1)) / 2;
  const resent = (sessions - 1) * earlier(turnsPerSession) + earlier(turns - (sessions - 1) * turnsPerSession);
  return {
    counts: {
      chunks: turns * perTurn.chunks,
      messages: turns * (1 + replies.length),
      toolStarts: turns * perTurn.calls,
      toolResults: turns * perTurn.calls,
      beforeModel: turns * replies.length,
      beforeTool: turns * perTurn.calls,
      afterTool: turns * perTurn.calls,
    },
    requests: turns * replies.length,
    messagesSent: turns * sent + resent * perTurn.messages * replies.length,
    executed: turns * perTurn.calls,
    textLength: turns * perTurn.text.length,
    lastText: hashOf(perTurn.text),
    failures: 0,
    stored: { sessions, messages: turns * perTurn.messages },
  };
}

const isCall = (chunk) => chunk.type === "toolCallDelta";
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const joined = (chunks) => chunks.map((chunk) => (chunk.type === "textDelta" ? chunk.text : "")).join("");
