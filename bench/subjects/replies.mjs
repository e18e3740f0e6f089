/** A reply of text in `count` pieces, its usage, and its end. */
export function textReply(count) {
  const chunks = Array.from({ length: count }, (_, at) => ({ type: "textDelta", text: `word ${at % 100} ` }));
  return [...chunks, usage(count), { type: "finish", reason: "stop" }];
}

/** A reply that calls tools; each call's arguments come in pieces of `pieceLength` characters. */
export function callReply(calls, pieceLength = 16) {
  const deltas = calls.flatMap(({ id, name, args }, index) => [
    { type: "toolCallDelta", index, id, name },
    ...pieces(JSON.stringify(args), pieceLength).map((argumentsDelta) => ({
      type: "toolCallDelta",
      index,
      argumentsDelta,
    })),
  ]);
  return [...deltas, usage(deltas.length), { type: "finish", reason: "tool-calls" }];
}

const usage = (outputTokens) => ({
  type: "usage",
  usage: { inputTokens: 100, outputTokens, totalTokens: 100 + outputTokens },
});

function pieces(text, length) {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length));
}

/** Three calls side by side, then text. */
export const threeCalls = () => [
  callReply([
    { id: "call_1", name: "forecast", args: { city: "Lisbon", days: 5, units: "metric" } },
    { id: "call_2", name: "search", args: { query: "packing list", limit: 3, tags: ["travel", "light"] } },
    { id: "call_3", name: "write", args: { path: "list.txt", content: "socks, hat, sunscreen" } },
  ]),
  textReply(20),
];

/** `count` rounds with one call each, then text. */
export const manyRounds = (count) => [
  ...Array.from({ length: count }, (_, at) =>
    callReply([{ id: `call_${at}`, name: "forecast", args: { city: `City ${at}`, days: 1 + (at % 14) } }]),
  ),
  textReply(20),
];
