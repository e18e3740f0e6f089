import { describe, expect, it } from "vitest";
import { fetchOf, type Outcome, streamed, whole } from "../adapters/models/chat-outcome.js";
import { loopback, pieces } from "../adapters/models/loopback.js";
import { wireCases } from "./wire-cases.js";

const incomplete = "ModelError(response-parse): the body ended before the reply was finished";
const broken = "the arguments are not valid JSON";
const calls = (...list: NonNullable<Outcome["calls"]>): Outcome => ({ text: "", calls: list, finish: "tool-calls" });

/** What each body of a case must come to: the part of its right outcome that a model adapter can show. */
const outcomes: Readonly<Record<string, Outcome | readonly Outcome[]>> = {
  F001: { text: "漢字🧭", finish: "stop" },
  F003: { text: "ok", finish: "stop" },
  F005: { text: "hi", finish: "stop" },
  F006: { text: "hey", finish: "stop", usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 } },
  F008: { text: "x", finish: "stop" },
  F010: {
    error: "server",
    message: "ModelError(server): the provider reported an error: backend went away",
    partialText: "Partial",
  },
  F015: { text: "Hello", finish: "stop" },
  F016: { error: "response-parse", message: incomplete },
  F018: { text: "All in one", finish: "stop", usage: { inputTokens: 3, outputTokens: 3, totalTokens: 6 } },
  F020: { text: "AB", finish: "stop", usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
  F021: {
    error: "server",
    message: "ModelError(server): the provider reported an error: read failed",
    partialText: "ok ",
  },
  F023: { text: "first second", finish: "stop" },
  F025: { text: "joined", finish: "stop" },
  F028: { text: "say it", reasoning: "think more", calls: [["c1", "f", {}]], finish: "tool-calls" },
  F029: calls(["c1", "bus_line", { line: "7" }], ["c2", "tide_table", { port: "K" }]),
  F031: calls(["c1", "add", { a: 1 }], ["c2", "add", { a: 2 }]),
  F033: calls(["c1", "one", {}], ["c2", "two", { x: 1 }]),
  F034: { text: "Let me look.", calls: [["c9", "find", { q: "cat" }]], finish: "tool-calls" },
  F036: calls(["17", "f", {}]),
  F038: calls(["c1", "f", { a: 2 }]),
  F039: calls(["c1", "fetch_invoice_list", { p: 1 }]),
  F041: calls(["c1", "clock", { tz: "CET" }]),
  F043: [calls(["c1", "now", {}]), calls(["c1", "now", {}])],
  F046: [calls(["c1", "now", {}]), calls(["c1", "now", {}])],
  F048: calls(["c1", "f", { a: 1 }]),
  F049: calls(["c1", "rm_all", broken]),
  F051: calls(["c1", "", "the call has no name"]),
  F053: { text: "", finish: "tool-calls" },
  F054: calls(["c1", "f", {}], ["c2", "g", {}]),
  F056: calls(["dup", "f", { n: 1 }], ["dup", "f", { n: 2 }]),
  F058: calls(["call_0", "f", { a: 1 }]),
  F059: calls(["c1", "f", {}]),
  F074: { text: "", reasoning: "I should look.", calls: [["c1", "f", {}]], finish: "tool-calls" },
  F172: [
    { text: "", finish: "content-filter" },
    { text: "Well", finish: "content-filter" },
    { text: "I cannot help", finish: "refusal" },
  ],
  F174: [
    { text: "", calls: [["c1", "write", broken]], finish: "length" },
    { text: "", calls: [["c1", "write", { path: "a" }]], finish: "length" },
  ],
  F211: { text: "ok", finish: "stop" },
};

const bodies = wireCases.flatMap(({ id, title, bodies }) =>
  bodies.map((body, variant) => {
    const wanted = outcomes[id];
    const name = bodies.length === 1 ? id : `${id}.${variant + 1}`;
    return { name: `${name} ${title}`, body, wanted: Array.isArray(wanted) ? (wanted as Outcome[])[variant] : wanted };
  }),
);

describe("a field case of the chat-completions wire", () => {
  it("has a wanted outcome for each of its bodies", () => {
    expect(bodies.filter(({ wanted }) => wanted === undefined)).toEqual([]);
    expect(bodies.length).toBe(41);
  });

  it.each(bodies)("comes out right over HTTP in the pieces of the network: $name", async ({ body, wanted }) => {
    await using server = await loopback(pieces(body));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(wanted);
    expect(server.requests).toHaveLength(1);
  });

  it.each(bodies)("comes out the same over HTTP one byte at a time: $name", async ({ body, wanted }) => {
    const bytes = Buffer.concat(body);
    await using server = await loopback(pieces(Array.from(bytes, (byte) => Uint8Array.of(byte))));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(wanted);
  });

  it.each(bodies)("comes out the same cut at every offset: $name", async ({ body, wanted }) => {
    const bytes = Buffer.concat(body);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const fetch = fetchOf([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(await streamed({ baseUrl: "http://unused.test", fetch }), `cut at ${cut}`).toEqual(wanted);
    }
  });

  it.each(bodies)("comes out the same with CRLF or CR line ends: $name", async ({ body, wanted }) => {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(body)).replaceAll("\r\n", "\n");
    for (const lineEnd of ["\r\n", "\r"]) {
      const bytes = Buffer.from(text.replaceAll("\n", lineEnd));
      const fetch = fetchOf(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      expect(await streamed({ baseUrl: "http://unused.test", fetch })).toEqual(wanted);
    }
  });

  it.each(bodies)(
    "comes out the same as the answer to a request without streaming: $name",
    async ({ body, wanted }) => {
      await using server = await loopback(pieces(body, { "content-type": "application/json" }));
      expect(await whole({ baseUrl: server.baseUrl })).toEqual(wanted);
    },
  );
});
