import { describe, expect, test } from "vitest";
import {
  ToolResultTrimCompressor,
  type ToolResultTrimOptions,
} from "../../../src/adapters/compressors/tool-result-trim.js";
import { adopt } from "../../../src/domain/adopt.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { estimateAll } from "../../../src/domain/estimate.js";
import { type AgentMessage, textOf, type ToolMessage } from "../../../src/domain/message.js";
import { PINNED_KEY } from "../../../src/domain/pins.js";
import type { CompressContext } from "../../../src/ports/compressor.js";
import { stopResponse, testAgent } from "../../../src/testkit/index.js";
import { calling, result, user } from "../../support/conversations.js";

const { signal } = new AbortController();
const big = (id: string, changes: Partial<ToolMessage> = {}): ToolMessage =>
  adopt({ ...result(id, `c${id}`, `begin ${id} ${"middle ".repeat(2_000)} end ${id}`), ...changes }, "result");
const history = (...results: readonly ToolMessage[]): AgentMessage[] => [
  user("u0"),
  ...results.flatMap((message) => [calling(`a${message.id}`, message.toolCallId), message]),
  user("newest"),
];

function trimmed(
  messages: readonly AgentMessage[],
  options: ToolResultTrimOptions = {},
  given: Partial<CompressContext> = {},
): readonly AgentMessage[] {
  const context = {
    sessionId: "s",
    reason: "before-model",
    estimatedTokens: estimateAll(messages),
    signal,
    ...given,
  } as const;
  const action = new ToolResultTrimCompressor(options).compress(messages, context);
  return action.type === "view" ? (action.messages as readonly AgentMessage[]) : [];
}

const shown = (messages: readonly AgentMessage[], id: string): string =>
  textOf(messages.find((message) => message.id === id) as ToolMessage);

describe("old, large tool results", () => {
  test("are shown by their beginning and end, and the note says what was cut; the newest stay whole", () => {
    const messages = history(big("1"), big("2"), big("3"));
    const view = trimmed(messages, { keepNewest: 2, maxCharacters: 300 });
    const text = shown(view, "1");
    expect(text).toMatch(/^begin 1 middle/);
    expect(text).toMatch(/end 1$/);
    const whole = textOf(big("1")).length;
    expect(text).toContain(
      `[${whole - 300} of ${whole} characters of this older result are left out here; call the tool again`,
    );
    expect(text.length).toBeLessThan(500);
    expect(view.filter((message) => !messages.includes(message)).map(({ id }) => id)).toEqual(["1"]);
    expect(view.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  });

  test("are the same copy at every call, and no second note is added", () => {
    const compressor = new ToolResultTrimCompressor({ keepNewest: 0 });
    const messages = history(big("1"));
    const context = { sessionId: "s", reason: "overflow", estimatedTokens: 9, signal } as const;
    const [one, two] = [compressor.compress(messages, context), compressor.compress(messages, context)];
    expect(one.type === "view" && two.type === "view" && one.messages[2] === two.messages[2]).toBe(true);
    if (one.type !== "view") throw new Error("a view");
    expect(compressor.compress(one.messages as AgentMessage[], context)).toEqual({ type: "none" });
  });

  test.each<[string, Partial<ToolMessage>]>([
    ["an error", { isError: true, outcome: "failed" }],
    ["a result of unknown outcome", { outcome: "unknown" }],
    ["one that never started", { outcome: "not-started" }],
    ["a pinned one", { metadata: { [PINNED_KEY]: true } }],
  ])("stay whole where they are %s", (_, changes) => {
    expect(trimmed(history(big("1", changes)), { keepNewest: 0 })).toEqual([]);
  });

  test("lose their pictures and files to a note, whatever their text", () => {
    const content = [
      { type: "text", text: "a screen" },
      { type: "image", mimeType: "image/png", source: { base64: "AAAA" } },
    ] as const;
    const view = trimmed(history(big("1", { content })), { keepNewest: 0 });
    expect(shown(view, "1")).toBe("a screen\n[image/png of this older result is left out]");
  });

  test("that are structured only are shown as the JSON the model saw, shortened", () => {
    const structured = { rows: Array.from({ length: 900 }, (_, n) => n) };
    const view = trimmed(history(big("1", { content: [], structured })), { keepNewest: 0, maxCharacters: 100 });
    expect(shown(view, "1")).toMatch(/^\{"rows":\[0,1,2[^]*characters of this older result[^]*899\]\}$/);
  });

  test("are cut between characters, never within one", () => {
    for (const maxCharacters of [100, 101, 102, 103]) {
      const content = [{ type: "text" as const, text: "😀".repeat(1_000) }];
      const text = shown(trimmed(history(big("1", { content })), { keepNewest: 0, maxCharacters }), "1");
      expect(text.isWellFormed()).toBe(true);
    }
  });

  test("are left alone while the request takes less than half of the window", () => {
    const messages = history(big("1"), big("2"));
    const options = { keepNewest: 0 };
    const modelContextWindow = estimateAll(messages) * 2;
    expect(trimmed(messages, options, { modelContextWindow })).toEqual([]);
    expect(trimmed(messages, options, { modelContextWindow, overheadTokens: 10 })).not.toEqual([]);
    expect(trimmed(messages, options, { modelContextWindow, reason: "overflow" })).not.toEqual([]);
    expect(trimmed(messages, { ...options, share: 0.1 }, { modelContextWindow })).not.toEqual([]);
    expect(trimmed(messages, { ...options, maxTokens: 10 }, { modelContextWindow })).not.toEqual([]);
  });

  test("are stored whole all the same, and no other request is told less", async () => {
    const messages = history(big("1"), big("2"));
    const compressors = [new ToolResultTrimCompressor({ keepNewest: 1 })];
    await using t = await testAgent({ script: [stopResponse("ok")], compressors });
    t.sessions.seed("s", { messages });
    await t.agent.runTurn("hi", "s");
    expect(shown(t.model.requests[0]?.messages ?? [], "1").length).toBeLessThan(2_300);
    expect(textOf((await t.agent.session("s")).messages[2] as ToolMessage)).toBe(textOf(big("1")));
  });
});

test.each([{ keepNewest: -1 }, { maxCharacters: 0.5 }, { share: 2 }, { keep: 1 }])(
  "options %j are refused",
  (options) => {
    expect(() => new ToolResultTrimCompressor(options as never)).toThrow(CompositionError);
  },
);
