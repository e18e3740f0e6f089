import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { StreamAccumulator } from "../../src/domain/stream.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";

const finish: StreamChunk = { type: "finish", reason: "stop" };
const text = (value: string, part?: number): StreamChunk => ({ type: "textDelta", text: value, part });
const thought = (value: string, part?: number): StreamChunk => ({ type: "reasoningDelta", text: value, part });
const call = (index: number, id?: string, name?: string, argumentsDelta?: string): StreamChunk => ({
  type: "toolCallDelta",
  index,
  id,
  name,
  argumentsDelta,
});

function folded(...chunks: readonly StreamChunk[]): StreamAccumulator {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator;
}
const marked = (...chunks: readonly StreamChunk[]) => folded(...chunks, finish).toResponse({ malformed: "mark" });
const calls = (...chunks: readonly StreamChunk[]) =>
  marked(...chunks).parts.map((part) =>
    part.type === "toolCall" ? [part.id, part.name, part.malformed?.reason ?? part.arguments] : part,
  );
function thrown(run: () => unknown): ModelError {
  try {
    run();
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("text and reasoning in a stream", () => {
  it("become parts in the order in which they began", () => {
    expect(marked(thought("a"), text("b"), text("c"), thought("d")).parts).toEqual([
      { type: "reasoning", text: "a" },
      { type: "text", text: "bc" },
      { type: "reasoning", text: "d" },
    ]);
  });

  it("stay apart by part, and a known part goes on wherever it stands", () => {
    expect(marked(text("a", 0), text("b", 1), thought("x", 0), text("c", 0), text("d"), thought("y", 0)).parts).toEqual(
      [
        { type: "text", text: "ac" },
        { type: "text", text: "b" },
        { type: "reasoning", text: "xy" },
        { type: "text", text: "d" },
      ],
    );
  });

  it("go on after a call where no part says otherwise", () => {
    expect(
      marked(text("a"), call(0, "c1", "f"), text("b"), call(0, undefined, undefined, "{}"), text("c")).parts,
    ).toEqual([
      { type: "text", text: "a" },
      { type: "toolCall", id: "c1", name: "f", arguments: {} },
      { type: "text", text: "bc" },
    ]);
  });

  it("leave no part where nothing came, but keep a signature, a cipher or provider data without text", () => {
    expect(
      marked(
        text(""),
        { type: "reasoningDelta", text: "", part: 0, signature: "S" },
        { type: "reasoningDelta", text: "", part: 0, signature: "IG" },
        { type: "reasoningDelta", text: "", part: 1, redacted: true },
        { type: "textDelta", text: "", part: 7, providerData: { a: 1 } },
        thought("", 2),
      ).parts,
    ).toEqual([
      { type: "reasoning", text: "", signature: "SIG" },
      { type: "reasoning", text: "", redacted: true },
      { type: "text", text: "", providerData: { a: 1 } },
    ]);
  });
});

describe("a tool call in a stream", () => {
  it("is put together from the pieces of its index, whatever comes between", () => {
    expect(
      calls(
        call(0, "c1", "f", '{"a"'),
        call(1, "c2", "g", "{"),
        text("", 0),
        call(0, undefined, undefined, ":1}"),
        call(1, undefined, undefined, "}"),
      ),
    ).toEqual([
      ["c1", "f", { a: 1 }],
      ["c2", "g", {}],
    ]);
  });

  it("is another one where a new id comes on a used index", () => {
    expect(calls(call(0, "c1", "f", "{}"), call(0, "c2", "f", '{"a":1}'))).toEqual([
      ["c1", "f", {}],
      ["c2", "f", { a: 1 }],
    ]);
    expect(
      calls(call(0, "c1", "f"), call(0, "c2"), call(0, undefined, "g"), call(0, undefined, undefined, "{}")),
    ).toEqual([
      ["c1", "f", {}],
      ["c2", "g", {}],
    ]);
  });

  it("goes on where its id comes again, also after another call under the same index", () => {
    expect(calls(call(0, "c1", "f", '{"a"'), call(0, "c2", "g", "{}"), call(0, "c1", undefined, ":1}"))).toEqual([
      ["c1", "f", { a: 1 }],
      ["c2", "g", {}],
    ]);
  });

  it("is told once where the last delta repeats it whole, encoded anew (F038)", () => {
    const pieces = [call(0, "c1", "f", '{"a": {"b":'), call(0, undefined, undefined, ' 1}, "n": 2}')];
    const again = '{"n":2,"a":{"b":1}}';
    expect(calls(...pieces, call(0, "c1", "f", again))).toEqual([["c1", "f", { a: { b: 1 }, n: 2 }]]);
    expect(calls(...pieces, call(0, undefined, undefined, again))).toEqual([["c1", "f", { a: { b: 1 }, n: 2 }]]);
    const other = '{"n":2,"a":{"b":3}}';
    expect(calls(...pieces, call(0, "c1", "f", other))).toHaveLength(2);
    const [id, next] = ['{"id":12345678901234567890}', '{"id": 12345678901234567891}'];
    expect(calls(call(0, "c1", "f", id), call(0, "c1", "f", next))).toHaveLength(2);
  });

  it("is told once where the last delta repeats it whole", () => {
    const again = [call(0, "c1", "f", '{"a":1}'), call(0, "c1", "f", '{"a":1}'), call(0, "c1", undefined, '{"a":1}')];
    expect(calls(...again)).toEqual([["c1", "f", { a: 1 }]]);
    const pieces = [call(0, "c1", "f", '{"a"'), call(0, undefined, undefined, ":1}")];
    expect(calls(...pieces, call(0, "c1", "f", '{"a":1}'))).toEqual([["c1", "f", { a: 1 }]]);
    expect(calls(call(0, "c1", "f", '{"a":1}'), call(0, "c2", "f", '{"a":1}'))).toHaveLength(2);
  });

  it("may begin with an empty object that holds the place of its arguments", () => {
    const rest = [call(0, undefined, undefined, '{"a"'), call(0, undefined, undefined, ":1}")];
    expect(calls(call(0, "c1", "f", "{}"), ...rest)).toEqual([["c1", "f", { a: 1 }]]);
    expect(calls(call(0, "c1", "f", "{}"), call(0, "c1", "f", '{"a":1}'))).toEqual([["c1", "f", { a: 1 }]]);
    expect(calls(call(0, "c1", "f", '{}{"a":'))).toEqual([["c1", "f", "the arguments are not valid JSON"]]);
    expect(calls(call(0, "c1", "f", "{}"), call(0, "c1", "f", "{}"))).toEqual([["c1", "f", {}]]);
  });

  it("goes on where a server makes up an id for every delta and repeats the name", () => {
    const pieces = [call(0, "x1", "f", '{"a"'), call(0, "x2", "f", ":1"), call(0, "x3", "f", "}")];
    expect(calls(...pieces)).toEqual([["x1", "f", { a: 1 }]]);
    expect(calls(...pieces, call(0, "y", "f", '{"a":2}'))).toEqual([
      ["x1", "f", { a: 1 }],
      ["y", "f", { a: 2 }],
    ]);
    expect(calls(call(0, "x0", "f"), ...pieces)).toEqual([["x0", "f", { a: 1 }]]);
    expect(calls(...pieces, call(0, "y", "f", ""))).toHaveLength(2);
    expect(calls(call(0, "x1", "f"), call(0, "x2", "f", '{"a":1}'))).toHaveLength(2);
    expect(calls(call(0, "x1", "f", '{"a"'), call(0, "x2", "g", "}"))).toHaveLength(2);
  });

  it("goes on where a server makes up an id for every delta", () => {
    expect(calls(call(0, "x1", "f", '{"a"'), call(0, "x2", undefined, ":1"), call(0, "x3", undefined, "}"))).toEqual([
      ["x1", "f", { a: 1 }],
    ]);
  });

  it("is another one where a named delta begins again after complete arguments, with no id or the same", () => {
    expect(calls(call(0, undefined, "f", '{"n":1}'), call(0, undefined, "f", '{"n":2}'))).toEqual([
      ["call_0", "f", { n: 1 }],
      ["call_0", "f", { n: 2 }],
    ]);
    expect(calls(call(0, "d", "f", '{"n":1}'), call(0, "d", "f", '{"n":2}'))).toHaveLength(2);
    expect(calls(call(0, undefined, "f", "{}"), call(0, undefined, "g"))).toHaveLength(2);
  });

  it("stays one where its name comes last, under its own id", () => {
    expect(calls(call(0, "c1", undefined, '{"a":1}'), call(0, "c1", "f"))).toEqual([["c1", "f", { a: 1 }]]);
  });

  it("stays one where a server repeats id and name in every delta", () => {
    expect(
      calls(
        call(0, "c1", "f", '{"a":'),
        call(0, "c1", "f", '{"b":2}'),
        call(0, "c1", "f", "}"),
        call(0, "c1", "f", ""),
      ),
    ).toEqual([["c1", "f", { a: { b: 2 } }]]);
  });

  it("gets its name in pieces; a repeated name counts once", () => {
    expect(
      calls(
        call(0, "c1", "get_"),
        call(0, undefined, "get_"),
        call(0, undefined, "user"),
        call(0, undefined, "", "{}"),
      ),
    ).toEqual([["c1", "get_user", {}]]);
  });

  it("takes arguments that come under an index that was never opened", () => {
    expect(calls(call(0, "c1", "f"), call(1, undefined, undefined, "{"), call(2, "", "", "}"))).toEqual([
      ["c1", "f", {}],
    ]);
    expect(calls(call(0, "c1", "f"), call(1, "c2", "g"), call(7, "c1", undefined, '{"a":1}'))).toEqual([
      ["c1", "f", { a: 1 }],
      ["c2", "g", {}],
    ]);
  });

  it("gets an id from its index where none came", () => {
    expect(calls(call(3, undefined, "f", "{}"))).toEqual([["call_3", "f", {}]]);
    expect(calls(call(3, undefined, "f"), call(3, "late", undefined, "{}"))).toEqual([["late", "f", {}]]);
  });

  it("has no arguments where they are missing, empty, blank or null in a finished stream", () => {
    for (const piece of [undefined, "", " \n", "null", '""'])
      expect(calls(call(0, "c", "f", piece))).toEqual([["c", "f", {}]]);
  });

  it("is cut where the output limit came before its arguments", () => {
    const response = folded(call(0, "c", "f"), { type: "finish", reason: "length" }).toResponse({ malformed: "mark" });
    expect(response.parts[0]).toMatchObject({ malformed: { raw: "", reason: "the arguments were cut off" } });
  });

  it("keeps its text where its numbers are more than a double holds", () => {
    expect(marked(call(0, "c", "f", '{"a":90071992'), call(0, undefined, undefined, "54740993}")).parts).toEqual([
      { type: "toolCall", id: "c", name: "f", arguments: { a: 9007199254740992 }, raw: '{"a":9007199254740993}' },
    ]);
  });

  it("keeps provider data", () => {
    expect(marked({ type: "toolCallDelta", index: 0, id: "c", name: "f", providerData: "sig" }).parts[0]).toMatchObject(
      {
        providerData: "sig",
      },
    );
  });

  it.each([
    [call(0, "c", "f", '{"a":'), "the arguments are not valid JSON"],
    [call(0, "c", "f", "[1]"), "the arguments are no JSON object"],
    [call(0, "c", undefined, "{}"), "the call has no name"],
  ])("is marked, with its text, and never has arguments where it is malformed: %j", (chunk, reason) => {
    const raw = (chunk as { argumentsDelta: string }).argumentsDelta;
    expect(marked(chunk).parts[0]).toMatchObject({ id: "c", arguments: {}, malformed: { raw, reason } });
  });
});

describe("the end of a stream", () => {
  it("counts once the finish is there, whatever trails it", () => {
    expect(marked(text("a", 0), { type: "finish", reason: "length", rawReason: "max" }, text("b", 0))).toEqual({
      parts: [{ type: "text", text: "ab" }],
      finishReason: "stop",
    });
    expect(folded({ type: "finish", reason: "other", rawReason: "?" }).toResponse({ malformed: "throw" })).toEqual({
      parts: [],
      finishReason: "other",
      rawFinishReason: "?",
    });
  });

  it("is a failure with what came where no finish did", () => {
    const usage = { inputTokens: 3 };
    const error = thrown(() => folded(text("half"), { type: "usage", usage }).toResponse({ malformed: "mark" }));
    expect(error).toMatchObject({ kind: "response-parse", usage, partial: [{ type: "text", text: "half" }] });
  });

  it("adds up usage by replacing what is defined later", () => {
    const usage = (value: object): StreamChunk => ({ type: "usage", usage: value });
    expect(
      marked(usage({ inputTokens: 1, outputTokens: 1 }), usage({ outputTokens: 5, inputTokens: undefined })).usage,
    ).toEqual({
      inputTokens: 1,
      outputTokens: 5,
    });
  });

  it("skips chunks of kinds this version does not know", () => {
    expect(marked({ type: "later" } as unknown as StreamChunk, text("a")).parts).toEqual([{ type: "text", text: "a" }]);
  });
});

describe('"throw"', () => {
  it.each([
    ["broken arguments", call(0, "SECRET-id", "SECRET-name", '{"SECRET": ')],
    ["arguments that are no object", call(0, "SECRET-id", "SECRET-name", '["SECRET"]')],
    ["a call without a name", call(0, "SECRET-id", undefined, "{}")],
    ["a call without an id", call(0, undefined, "SECRET-name", "{}")],
  ])("refuses %s with an error that quotes nothing", (_, chunk) => {
    const error = thrown(() =>
      folded(text("SECRET"), call(9, "ok", "ok"), chunk, finish).toResponse({ malformed: "throw" }),
    );
    expect(error.kind).toBe("response-parse");
    expect(error.message).toMatch(/^ModelError\(response-parse\): tool call 2 of the reply is malformed: the /);
    expect(`${error.message} ${error.cause} ${JSON.stringify(error)} ${error.stack}`).not.toContain("SECRET");
    expect(error.partial).toHaveLength(3);
  });

  it("gives the same response as marking where nothing is malformed", () => {
    const stream = folded(text("a"), call(0, "c", "f", "{}"), finish);
    expect(stream.toResponse({ malformed: "throw" })).toEqual(stream.toResponse({ malformed: "mark" }));
  });
});

describe("a partial response", () => {
  it("shows calls as not over, and costs no parsing, before the finish", () => {
    const parses = counting(() => {
      expect(folded(text("a"), call(0, "c", "f", "{}")).partial()).toEqual({
        parts: [
          { type: "text", text: "a" },
          {
            type: "toolCall",
            id: "c",
            name: "f",
            arguments: {},
            malformed: { raw: "{}", reason: "the stream has not reached the end of the call" },
          },
        ],
      });
    });
    expect(parses).toBe(0);
  });

  it("is a snapshot: what comes later does not change it", () => {
    const accumulator = folded(text("a"));
    const before = accumulator.partial();
    accumulator.push(text("b"));
    expect(before.parts).toEqual([{ type: "text", text: "a" }]);
  });
});

/** Characters that JSON.parse was given while `run` ran. */
function counting(run: () => void): number {
  const { parse } = JSON;
  let count = 0;
  JSON.parse = (source: string, reviver?: (key: string, value: unknown) => unknown): unknown => {
    count += source.length;
    return parse(source, reviver);
  };
  try {
    run();
  } finally {
    JSON.parse = parse;
  }
  return count;
}

/** The chunk, its field reads added to `reads`. */
function watched(chunk: StreamChunk, reads: { count: number }): StreamChunk {
  return new Proxy(chunk, {
    get(target, key, receiver) {
      reads.count += 1;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

describe("the cost of a stream", () => {
  const DELTAS = 10_000;
  const source = JSON.stringify({ body: "0123456789".repeat(DELTAS) });
  const size = Math.ceil(source.length / DELTAS);
  const args = Array.from({ length: DELTAS }, (_, n) => source.slice(n * size, (n + 1) * size));

  it("is a fixed number of looks at each chunk, and one parse of the arguments at the end", () => {
    const reads = { count: 0 };
    const accumulator = new StreamAccumulator();
    const parsedEarly = counting(() => {
      args.forEach((piece, n) =>
        accumulator.push(watched(call(0, n === 0 ? "c" : undefined, n === 0 ? "f" : undefined, piece), reads)),
      );
      for (let n = 0; n < DELTAS; n++) accumulator.push(watched(text("word "), reads));
      accumulator.push(finish);
    });
    expect(parsedEarly).toBe(0);
    expect(reads.count).toBeLessThanOrEqual(2 * DELTAS * 8);
    expect(counting(() => accumulator.toResponse({ malformed: "mark" }))).toBe(source.length);
  });

  it("stays linear where every delta repeats the name and looks like the end of the arguments", () => {
    const accumulator = new StreamAccumulator();
    const parsed = counting(() => {
      accumulator.push(call(0, "c", "f", '{"a":"'));
      for (let n = 0; n < DELTAS; n++) accumulator.push(call(0, undefined, "f", "{}"));
      for (let n = 0; n < DELTAS; n++) accumulator.push(call(0, `c${n}`, undefined, "{}"));
    });
    expect(parsed).toBeLessThan(20 * DELTAS);
  });
});

const piece = fc.string({ unit: "binary", maxLength: 12 });
const block = fc.oneof(
  fc.record({ type: fc.constant("text" as const), body: piece }),
  fc.record({ type: fc.constant("reasoning" as const), body: piece }),
  fc.record({
    type: fc.constant("call" as const),
    body: fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map((value) => JSON.stringify(value)),
      piece,
      fc.constant('{"a":9007199254740993}'),
    ),
  }),
);
const reply = fc.array(block, { maxLength: 6 });
type Block = { readonly type: "text" | "reasoning" | "call"; readonly body: string };

/** The chunks of a reply, each body cut at `cuts` (places between 0 and 1). */
function chunksOf(blocks: readonly Block[], cuts: readonly number[]): readonly (readonly StreamChunk[])[] {
  return blocks.map(({ type, body }, index) => {
    const places = [0, ...cuts.map((cut) => Math.floor(cut * body.length)).sort((a, b) => a - b), body.length];
    const pieces = places.slice(1).map((end, n) => body.slice(places[n], end));
    if (type === "text") return pieces.map((value) => text(value, index));
    if (type === "reasoning") return pieces.map((value) => thought(value, index));
    return [
      call(index, `id${index}`, `tool${index}`),
      ...pieces.map((value) => call(index, undefined, undefined, value)),
    ];
  });
}

describe("the same reply", () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 });

  it("comes out the same however its deltas are split", () => {
    fc.assert(
      fc.property(reply, cuts, (blocks, places) => {
        expect(marked(...chunksOf(blocks, places).flat())).toEqual(marked(...chunksOf(blocks, []).flat()));
      }),
    );
  });

  it("comes out the same however its blocks are interleaved, once each has begun", () => {
    fc.assert(
      fc.property(reply, cuts, fc.array(fc.nat(5), { maxLength: 40 }), (blocks, places, picks) => {
        const queues = chunksOf(blocks, places).map((queue) => [...queue]);
        const mixed = queues.map((queue) => queue.shift()).filter((chunk) => chunk !== undefined);
        for (const pick of picks) mixed.push(...(queues[pick]?.splice(0, 1) ?? []));
        mixed.push(...queues.flat());
        expect(marked(...mixed)).toEqual(marked(...chunksOf(blocks, []).flat()));
      }),
    );
  });

  it("comes out the same after a reset, whatever was voided", () => {
    fc.assert(
      fc.property(reply, reply, (voided, blocks) => {
        const before = [...chunksOf(voided, []).flat(), finish, { type: "usage", usage: { inputTokens: 9 } } as const];
        const after = chunksOf(blocks, []).flat();
        expect(marked(...before, { type: "reset", reason: "retry" }, ...after)).toEqual(marked(...after));
      }),
    );
  });

  it("looks the same in the partial view once it is finished", () => {
    fc.assert(
      fc.property(reply, (blocks) => {
        const stream = folded(...chunksOf(blocks, []).flat(), finish);
        expect(stream.partial()).toEqual(stream.toResponse({ malformed: "mark" }));
      }),
    );
  });

  it("survives chunks in any order, ids and names without crashing, keeps all text and lets no nameless call pass", () => {
    const maybe = fc.option(fc.constantFrom("", "a", "b", "{}", '{"x":', "}"), { nil: undefined });
    const any = fc.oneof(
      fc.record({
        type: fc.constant("textDelta" as const),
        text: piece,
        part: fc.option(fc.nat(2), { nil: undefined }),
      }),
      fc.record({
        type: fc.constant("toolCallDelta" as const),
        index: fc.nat(2),
        id: maybe,
        name: maybe,
        argumentsDelta: maybe,
      }),
    );
    fc.assert(
      fc.property(fc.array(any, { maxLength: 30 }), (chunks) => {
        const { parts } = marked(...chunks);
        const kept = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
        const sent = chunks.map((chunk) => (chunk.type === "textDelta" ? chunk.text : "")).join("");
        expect([...kept].sort()).toEqual([...sent].sort());
        for (const part of parts)
          if (part.type === "toolCall" && part.malformed === undefined) expect(part.name).not.toBe("");
      }),
    );
  });
});
