import { Ajv } from "ajv";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { ModelError } from "../../src/domain/errors.js";
import type { Message } from "../../src/domain/message.js";
import { patchMetadata } from "../../src/domain/session-rules.js";
import { StreamAccumulator } from "../../src/domain/stream.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import { orderResults, requestView } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import {
  anyBrokenStream,
  type AnyDelta,
  anyDeltas,
  anyMessage,
  anyStream,
  anyTool,
  anyTranscript,
} from "../../src/testkit/arbitraries/index.js";
import { RecordingSessionStore } from "../../src/testkit/index.js";

const folded = (chunks: readonly StreamChunk[]): StreamAccumulator => {
  const stream = new StreamAccumulator();
  for (const chunk of chunks) stream.push(chunk);
  return stream;
};

/** How often something holds among samples, so that no property is about nothing. */
const share = <T>(arbitrary: Arbitrary<T>, holds: (value: T) => boolean): number => {
  const sample = fc.sample(arbitrary, { numRuns: 200, seed: 7 });
  return sample.filter(holds).length / sample.length;
};

/** What a property that fails is shrunk to. */
const shrunk = <T>(arbitrary: Arbitrary<T>, holds: (value: T) => boolean): T => {
  const { counterexample } = fc.check(fc.property(arbitrary, holds), { seed: 11, numRuns: 2_000 });
  if (counterexample === null) throw new Error("the property holds");
  return counterexample[0];
};

const callsIn = (messages: readonly Message[]): number =>
  messages
    .flatMap((message) => (message.role === "assistant" ? message.parts : []))
    .filter(({ type }) => type === "toolCall").length;

describe("transcripts", () => {
  test("keep the law as they are sent, and as they are stored once their results are in order", () => {
    fc.assert(
      fc.property(anyTranscript({ pending: true }), ({ messages, pending }) => {
        expect(transcriptLaw(messages, { pending })).toEqual([]);
      }),
    );
    fc.assert(
      fc.property(anyTranscript({ order: "stored", pending: true }), ({ messages, pending }) => {
        expect(transcriptLaw(orderResults(messages), { pending })).toEqual([]);
      }),
    );
  });

  test("are of every kind: calls, pending ones, results out of order, ids that come again", () => {
    const stored = anyTranscript({ order: "stored", pending: true });
    expect(share(stored, ({ messages }) => callsIn(messages) > 1)).toBeGreaterThan(0.2);
    expect(share(stored, ({ pending }) => pending.length > 0)).toBeGreaterThan(0.05);
    expect(
      share(stored, ({ messages }) => transcriptLaw(messages).some(({ kind }) => kind === "out-of-order")),
    ).toBeGreaterThan(0.05);
    const ids = (messages: readonly Message[]): string[] =>
      messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
    expect(share(stored, ({ messages }) => new Set(ids(messages)).size < ids(messages).length)).toBeGreaterThan(0.005);
  });

  test("cut anywhere, or robbed of any message, are legal again once they are repaired (S4)", () => {
    fc.assert(
      fc.property(anyTranscript({ order: "stored" }), fc.nat(20), fc.nat(20), ({ messages }, end, gone) => {
        const damaged = messages.slice(0, end).filter((_, index) => index !== gone);
        expect(transcriptLaw(requestView(damaged))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("that are whole lose nothing in a repair", () => {
    fc.assert(
      fc.property(anyTranscript(), ({ messages }) => {
        const said = messages.filter((message) => message.role !== "assistant" || message.parts.length > 0);
        expect(requestView(messages)).toEqual(said);
      }),
    );
  });

  test("shrink to few messages with little in them", () => {
    const { messages } = shrunk(anyTranscript(), (made) => callsIn(made.messages) === 0);
    expect(messages).toHaveLength(2);
    expect(messages).toMatchObject([
      { id: "m0", role: "assistant", parts: [{ type: "toolCall", id: "c0", name: "a", arguments: {} }] },
      { id: "m1", role: "tool", toolCallId: "c0", content: [] },
    ]);
    expect(shrunk(anyMessage(), ({ role }) => role !== "user")).toEqual({ role: "user", content: [] });
  });
});

describe("streams", () => {
  test("add up to their response, whatever was cut, mixed or voided", () => {
    fc.assert(
      fc.property(anyStream(), ({ chunks, response }) => {
        expect(folded(chunks).toResponse({ malformed: "throw" })).toEqual(response);
      }),
      { numRuns: 500 },
    );
  });

  test("are of every kind: cut, mixed, voided, with calls", () => {
    const calls = ({ chunks }: { readonly chunks: readonly StreamChunk[] }) =>
      chunks.some(({ type }) => type === "toolCallDelta");
    expect(share(anyStream(), calls)).toBeGreaterThan(0.2);
    expect(share(anyStream(), ({ chunks }) => chunks.some(({ type }) => type === "reset"))).toBeGreaterThan(0.2);
    expect(share(anyStream(), ({ chunks }) => chunks.length > 6)).toBeGreaterThan(0.2);
  });

  test("that are broken are refused, and their fault is seen in the call it is in", () => {
    fc.assert(
      fc.property(anyBrokenStream(), ({ chunks, fault }) => {
        const stream = folded(chunks);
        expect(() => stream.toResponse({ malformed: "throw" })).toThrow(ModelError);
        if (fault === "no-finish") return;
        const { parts } = stream.toResponse({ malformed: "mark" });
        expect(parts.filter((part) => part.type === "toolCall" && part.malformed !== undefined)).toHaveLength(1);
      }),
      { numRuns: 500 },
    );
  });

  test("shrink to whole blocks, one after the other", () => {
    const { chunks } = shrunk(anyStream(), ({ response }) => response.parts.every(({ type }) => type !== "reasoning"));
    expect(chunks).toEqual([
      { type: "reasoningDelta", part: 0, text: expect.stringMatching(/^.$/s) as string },
      { type: "finish", reason: "stop" },
    ]);
  });
});

describe("tools", () => {
  test("take their valid arguments, and refuse the others", () => {
    const validator = new Ajv();
    fc.assert(
      fc.property(anyTool(), ({ tool, valid, invalid }) => {
        const takes = validator.compile(tool.inputSchema);
        expect([takes(valid), takes(invalid)]).toEqual([true, false]);
      }),
    );
  });

  test("shrink to one required text", () => {
    expect(shrunk(anyTool(), () => false)).toMatchObject({
      tool: { inputSchema: { properties: { p0: { type: "string" } }, required: ["p0"] } },
      valid: { p0: "" },
    });
  });
});

describe("writes of a session", () => {
  const stores: readonly [string, () => SessionStore][] = [
    ["the recording store", () => new RecordingSessionStore()],
    ["the store in memory", () => new MemorySessionStore()],
    ["the store in a file", () => new SqliteSessionStore({ path: ":memory:" })],
  ];

  test.each(stores)("one after the other leave %s with all of them, each once", async (_, make) => {
    await fc.assert(
      fc.asyncProperty(anyDeltas(), async (deltas) => {
        const store = make();
        let revision = 0;
        for (const delta of deltas) revision = (await store.append?.("s", { ...delta, baseRevision: revision })) ?? -1;
        const { messages, metadata, compaction } = await store.load("s");
        expect({ messages, metadata, compaction }).toEqual(addedUp(deltas));
        expect(revision).toBe(new Set(deltas).size);
      }),
      { numRuns: 100 },
    );
  });

  test("are of every kind: repeated, with metadata, with a compaction; and shrink to one that is empty", () => {
    expect(share(anyDeltas(), (deltas) => new Set(deltas).size < deltas.length)).toBeGreaterThan(0.05);
    expect(share(anyDeltas(), (deltas) => deltas.some(({ compaction }) => compaction !== undefined))).toBeGreaterThan(
      0.05,
    );
    expect(shrunk(anyDeltas(), (deltas) => deltas.length === 0)).toEqual([{ operationId: "o0", messages: [] }]);
  });
});

/** What writes add up to, said once more and simply. */
function addedUp(deltas: readonly AnyDelta[]) {
  const once = [...new Set(deltas)];
  return {
    messages: once.flatMap(({ messages }) => messages),
    metadata: once.reduce((all, { metadata, unset }) => patchMetadata(all, metadata, unset), {}),
    compaction: once.findLast(({ compaction }) => compaction !== undefined)?.compaction,
  };
}
