import { describe, expect, it } from "vitest";
import { OFFLINE_NOTICE } from "../../../src/adapters/models/offline-demo/offline-answer.js";
import { OfflineDemoModel } from "../../../src/adapters/models/offline-demo.js";
import { wishesOf } from "../../../src/adapters/models/offline-demo/offline-wishes.js";
import { ModelError } from "../../../src/domain/errors.js";
import type { Json, JsonObject } from "../../../src/domain/json.js";
import { type Message, textOf, type ToolCallPart, toolCallsOf } from "../../../src/domain/message.js";
import type { ChatOptions, ModelResponse } from "../../../src/domain/model.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ToolDef } from "../../../src/domain/tool.js";
import type { ChatRequest } from "../../../src/ports/model.js";

const tool = (
  name: string,
  description: string,
  properties: JsonObject,
  required: readonly string[] = [],
): ToolDef => ({
  name,
  description,
  inputSchema: { type: "object", properties, required },
});
const string = (description = ""): Json => ({ type: "string", description });

const tools: readonly ToolDef[] = [
  tool("list_files", "List the files in a folder.", { path: { type: "string", default: "." } }, ["path"]),
  tool("read_file", "Read a text file.", { path: string(), firstLine: { type: "integer", default: 1 } }, [
    "path",
    "firstLine",
  ]),
  tool("search_text", "Find lines that hold a text in files.", { text: string(), path: string() }, ["text"]),
  tool("calculate", "Do arithmetic.", { expression: string() }, ["expression"]),
  tool("current_time", "Tell the current time.", { timeZone: { type: "string", default: "UTC" } }),
];

const user = (text: string, id = "u"): Message => ({ id, at: 0, role: "user", content: [{ type: "text", text }] });

const request = (messages: readonly Message[], extra: Partial<ChatRequest> = {}): ChatRequest => ({
  messages,
  tools,
  options: {},
  signal: new AbortController().signal,
  sessionId: "s",
  turnId: "t",
  round: 1,
  ...extra,
});

const ask = (text: string, extra: Partial<ChatRequest> = {}): Promise<ModelResponse> =>
  new OfflineDemoModel().chat(request([user(text)], extra));

const calls = ({ parts }: ModelResponse): readonly (readonly [string, JsonObject])[] =>
  parts.flatMap((part) => (part.type === "toolCall" ? [[part.name, part.arguments] as const] : []));

const replyOf = ({ parts }: ModelResponse, id = "a"): Message => ({ id, at: 0, role: "assistant", parts });

const result = (call: ToolCallPart, text: string, isError = false): Message => ({
  ...{ id: `r-${call.id}`, at: 0, role: "tool", toolCallId: call.id, toolName: call.name },
  ...{ content: [{ type: "text", text }], isError, outcome: isError ? "failed" : "completed" },
});

const textIn = ({ parts }: ModelResponse): string => textOf({ role: "assistant", parts });

describe("OfflineDemoModel picks tools by the words of the message", () => {
  it.each<[string, readonly (readonly [string, JsonObject])[]]>([
    ["List the files.", [["list_files", {}]]],
    ["which files are in src/domain?", [["list_files", { path: "src/domain" }]]],
    ["Please read README.md", [["read_file", { path: "README.md" }]]],
    ["What's in package.json?", [["read_file", { path: "package.json" }]]],
    ['search "hello and goodbye" in src', [["search_text", { text: "hello and goodbye", path: "src" }]]],
    ["find Observer in src/ports", [["search_text", { text: "Observer", path: "src/ports" }]]],
    ["What is (2 + 3) * 4?", [["calculate", { expression: "(2 + 3) * 4" }]]],
    ["12 times 12", [["calculate", { expression: "12 * 12" }]]],
    ["What time is it?", [["current_time", {}]]],
    ["what is the time in Europe/Paris", [["current_time", { timeZone: "Europe/Paris" }]]],
    [
      'Read README.md and search "agent", then tell me: what is 2+2?',
      [
        ["read_file", { path: "README.md" }],
        ["search_text", { text: "agent" }],
        ["calculate", { expression: "2+2" }],
      ],
    ],
    [
      "read a.ts, b.ts and c/d.ts",
      [
        ["read_file", { path: "a.ts" }],
        ["read_file", { path: "b.ts" }],
        ["read_file", { path: "c/d.ts" }],
      ],
    ],
    ["Hello there", []],
    ["I was born on 2001-02-03 in a house", []],
  ])("%s", async (text, expected) => {
    const response = await ask(text);
    expect(calls(response)).toEqual(expected);
    expect(response.finishReason).toBe(expected.length > 0 ? "tool-calls" : "stop");
  });

  it("uses whatever tool of the request fits, by name, description and schema", async () => {
    const others = [
      tool("fsCat", "Read the content of a file", { fileName: string() }, ["fileName"]),
      tool("grep", "Find a word", { needle: string(), dir: string() }, ["needle"]),
      tool("get_weather", "Weather of a city", { city: string(), unit: { enum: ["celsius", "kelvin"] } }, [
        "city",
        "unit",
      ]),
    ];
    expect(calls(await ask("read a.ts and grep 'x y'", { tools: others }))).toEqual([
      ["fsCat", { fileName: "a.ts" }],
      ["grep", { needle: "x y" }],
    ]);
    expect(calls(await ask("the weather in kelvin for Paris", { tools: others }))).toEqual([
      ["get_weather", { city: "kelvin for Paris", unit: "kelvin" }],
    ]);
  });

  it("calls no tool whose required arguments it cannot fill", async () => {
    const strict = [tool("read_file", "Read", { path: string(), mode: { type: "object" } }, ["path", "mode"])];
    expect(calls(await ask("read a.ts", { tools: strict }))).toEqual([]);
  });

  it("obeys toolChoice", async () => {
    const both = "read a.ts and what is 1 + 1";
    expect(calls(await ask(both, { options: { toolChoice: "none" } }))).toEqual([]);
    expect(calls(await ask(both, { options: { toolChoice: { tool: "calculate" } } }))).toEqual([
      ["calculate", { expression: "1 + 1" }],
    ]);
  });
});

describe("OfflineDemoModel answers from the results", () => {
  const rounds = async (text: string, options: ChatOptions = {}): Promise<{ count: number; answer: string }> => {
    const messages: Message[] = [user(text)];
    const ids = new Set<string>();
    for (let count = 1; count <= 5; count += 1) {
      const response = await new OfflineDemoModel().chat(request(messages, { options }));
      const asked = response.parts.filter((part) => part.type === "toolCall");
      if (asked.length === 0) return { count, answer: textIn(response) };
      for (const call of asked) {
        expect(ids).not.toContain(call.id);
        ids.add(call.id);
      }
      messages.push(replyOf(response, `a${count}`), ...asked.map((call) => result(call, `result of ${call.name}`)));
    }
    throw new Error("it never comes to an answer");
  };

  it("in the next round, naming what it is", async () => {
    const { count, answer } = await rounds("read a.ts and what is 1 + 1");
    expect(count).toBe(2);
    expect(answer).toBe(
      `${OFFLINE_NOTICE}\nread_file(a.ts) gives result of read_file\ncalculate(1 + 1) gives result of calculate`,
    );
  });

  it("one call a round where parallel calls are switched off", async () => {
    const { count, answer } = await rounds("read a.ts and what is 1 + 1", { parallelToolCalls: false });
    expect(count).toBe(3);
    expect(answer).toContain("result of read_file");
    expect(answer).toContain("result of calculate");
  });

  it("and says which did not work, and how much it leaves out", async () => {
    const first = await ask("read a.ts and list files");
    const [read, list] = first.parts.filter((part) => part.type === "toolCall");
    if (read === undefined || list === undefined) throw new Error("two calls expected");
    const results = [
      result(read, "no such file", true),
      result(list, Array.from({ length: 20 }, (_, i) => `f${i}`).join("\n")),
    ];
    const answer = textIn(
      await new OfflineDemoModel().chat(request([user("read a.ts and list files"), replyOf(first), ...results])),
    );
    expect(answer).toContain("read_file(a.ts) did not work: no such file");
    expect(answer).toContain("  f11\n  ... and 8 more lines");
  });

  it("of this turn only, and can tell what was said before", async () => {
    const first = await ask("what is 1 + 1");
    const [call] = first.parts.filter((part) => part.type === "toolCall");
    if (call === undefined) throw new Error("a call expected");
    const before = [user("what is 1 + 1", "u1"), replyOf(first), result(call, "2")];
    const recalled = await new OfflineDemoModel().chat(request([...before, user("What did I ask first?", "u2")]));
    expect(textIn(recalled)).toBe(`${OFFLINE_NOTICE}\nYou said: what is 1 + 1`);
  });

  it("says what it is and what it was given when no rule applies", async () => {
    const text = textIn(await ask("Hello"));
    expect(text).toContain("rules, not a language model");
    expect(text).toContain("list_files, read_file, search_text");
  });
});

describe("OfflineDemoModel streams", () => {
  const stream = async (
    text: string,
    signal = new AbortController().signal,
    onChunk: (chunk: StreamChunk) => void = () => undefined,
  ): Promise<{ chunks: StreamChunk[]; response: ModelResponse }> => {
    const chunks: StreamChunk[] = [];
    const model = new OfflineDemoModel({ pause: () => Promise.resolve() });
    const response = await model.chatStreaming(request([user(text)], { signal }), (chunk) => {
      chunks.push(chunk);
      onChunk(chunk);
    });
    return { chunks, response };
  };

  it("the same response as without streaming, in small chunks that end in a finish", async () => {
    for (const text of ["Hello 👩‍💻", "read a.ts and what is 1 + 1"]) {
      const { chunks, response } = await stream(text);
      expect(response).toEqual(await ask(text));
      const said = chunks.flatMap((chunk) => (chunk.type === "textDelta" ? [chunk.text] : []));
      expect(said.join("")).toBe(textIn(response));
      expect(Math.max(...said.map((piece) => [...piece].length))).toBeLessThanOrEqual(12);
      const asked = toolCallsOf({ role: "assistant", parts: response.parts });
      for (const [index, call] of asked.entries()) {
        const pieces = chunks.filter((chunk) => chunk.type === "toolCallDelta" && chunk.index === index);
        const json = pieces
          .map((piece) => (piece.type === "toolCallDelta" ? (piece.argumentsDelta ?? "") : ""))
          .join("");
        expect(JSON.parse(json)).toEqual(call.arguments);
      }
      expect(chunks.at(-1)).toEqual({ type: "finish", reason: response.finishReason });
    }
  });

  it("and stops with a typed error as soon as it is aborted", async () => {
    const controller = new AbortController();
    let count = 0;
    const stopped: unknown = await stream("Hello", controller.signal, () => {
      count += 1;
      if (count === 2) controller.abort();
    }).catch((error: unknown) => error);
    expect(stopped).toBeInstanceOf(ModelError);
    expect(stopped).toMatchObject({ kind: "aborted" });
    expect(count).toBe(2);
  });
});

describe("wishesOf", () => {
  it("takes hostile texts in bounded time", () => {
    for (const unit of ["-", "+ ", "'", '"a', "and ", "in the ", "what ", "(", "1-", "\uf8ff0"])
      expect(wishesOf(unit.repeat(1_000_000)).length).toBeLessThanOrEqual(8);
  });
});
