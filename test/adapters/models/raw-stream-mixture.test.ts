import { describe, expect, it } from "vitest";
import { type ChatCompletionChunk, type RawChunk, streamModel } from "../../../src/adapters/models/raw-stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { streamedBy } from "./chat-outcome.js";

async function* given(chunks: readonly RawChunk[]): AsyncGenerator<RawChunk> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
const outcomeOf = (...chunks: readonly RawChunk[]) => streamedBy(streamModel(() => given(chunks), { model: "m" }));
const wire = (delta: object, finish_reason: string | null = null): ChatCompletionChunk => ({
  model: "m1",
  choices: [{ index: 0, delta, finish_reason }],
});
const text = (content: string): StreamChunk => ({ type: "textDelta", text: content });
const RESET: StreamChunk = { type: "reset", reason: "again" };
const STOPPED: StreamChunk = { type: "finish", reason: "stop" };

describe("chunks of the wire around a reset of our own", () => {
  it("are no whole reply where only the attempt before the reset had its finish", async () => {
    for (const again of [wire({ content: "Half" }), text("Half")]) {
      const outcome = await outcomeOf(wire({ content: "First" }), wire({}, "stop"), RESET, again);
      expect(outcome).toMatchObject({ error: "response-parse", partialText: "Half" });
    }
  });

  it("are a whole reply where the attempt behind the reset has its finish, in either form", async () => {
    const first = [wire({ content: "First" }), wire({}, "length"), RESET];
    expect(await outcomeOf(...first, wire({ content: "ok" }), wire({}, "stop"))).toEqual({
      text: "ok",
      finish: "stop",
    });
    expect(await outcomeOf(...first, text("ok"), STOPPED)).toEqual({ text: "ok", finish: "stop" });
  });

  it("keep no pieces of a call of the attempt before", async () => {
    const call = { index: 0, id: "c1", function: { name: "f", arguments: '{"a":' } };
    const again = { index: 0, id: "c2", function: { name: "g", arguments: "{}" } };
    const outcome = await outcomeOf(
      wire({ tool_calls: [call] }),
      RESET,
      wire({ tool_calls: [again] }),
      wire({}, "tool_calls"),
    );
    expect(outcome).toEqual({ text: "", calls: [["c2", "g", {}]], finish: "tool-calls" });
  });
});
