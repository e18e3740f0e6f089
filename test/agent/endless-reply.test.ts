import { expect, test } from "vitest";
import type { ModelPort } from "../../src/ports/model.js";
import { modelStep, stopResponse, type TestAgent, testAgent, textStream } from "../../src/testkit/index.js";
import { never, rejectionOf, terminals } from "../support/turns.js";

/** The last chunk anybody was told of. */
function lastChunk(t: TestAgent): unknown {
  const event = t.observer.events.findLast(({ type }) => type === "streamChunk");
  return event?.type === "streamChunk" ? event.chunk : undefined;
}

const noChat: ModelPort["chat"] = () => Promise.reject(new Error("only streams"));

test("a reply that outgrows the output limit is stopped while it streams, and nothing of it is kept (L2)", async () => {
  let pieces = 0;
  const endless: ModelPort = {
    chat: noChat,
    chatStreaming: async ({ signal }, onChunk) => {
      for (; !signal.aborted; pieces++) {
        onChunk({ type: "textDelta", text: "0123456789" });
        await Promise.resolve();
      }
      throw signal.reason;
    },
  };
  await using t = await testAgent({ model: endless, config: { maxOutputBytes: 1_000 } });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect([error.kind, error.limit, error.partial?.messages.map(({ role }) => role)]).toEqual([
    "output-limit",
    "bytes",
    ["user"],
  ]);
  expect([pieces < 110, terminals(t.observer.events)]).toEqual([true, ["turnFailed"]]);
  expect(lastChunk(t)).toEqual({ type: "reset", reason: "refused" });
});

test("a whole reply that has no place is taken back from whoever was told of it (L2, C3)", async () => {
  const script = [modelStep.stream(textStream("x".repeat(900), 3))];
  await using t = await testAgent({ script, config: { maxOutputBytes: 950 } });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).limit).toBe("bytes");
  expect(lastChunk(t)).toEqual({ type: "reset", reason: "refused" });
  expect((await t.agent.session("s")).messages.map(({ role }) => role)).toEqual(["user"]);
});

test("a model that goes on in spite of it is given up within a second, and the next turn is not stopped (L2)", async () => {
  let calls = 0;
  const deaf: ModelPort = {
    chat: noChat,
    chatStreaming: async (_, onChunk) => {
      calls += 1;
      if (calls > 1) return stopResponse("short");
      onChunk({ type: "textDelta", text: "x".repeat(5_000) });
      return never();
    },
  };
  await using t = await testAgent({ model: deaf, config: { maxOutputBytes: 1_000 } });
  const failed = rejectionOf(t.agent.runTurn("hi", "s"));
  await t.runtime.advance(1_000);
  expect((await failed).limit).toBe("bytes");
  expect((await t.agent.runTurn("again", "s")).text).toBe("short");
});

test("the arguments of a call count like text (L2)", async () => {
  const greedy: ModelPort = {
    chat: noChat,
    chatStreaming: async ({ signal }, onChunk) => {
      onChunk({
        type: "toolCallDelta",
        index: 0,
        id: "c1",
        name: "f",
        argumentsDelta: `{"text":"${"x".repeat(2_000)}`,
      });
      signal.throwIfAborted();
      return stopResponse("never");
    },
  };
  await using t = await testAgent({ model: greedy, config: { maxOutputBytes: 1_000 } });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).limit).toBe("bytes");
});
