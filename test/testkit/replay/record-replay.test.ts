import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { MemorySessionStore } from "../../../src/adapters/sessions/memory.js";
import { Agent } from "../../../src/agent/agent.js";
import { ModelError, ToolError } from "../../../src/domain/errors.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../../src/ports/model.js";
import type { ToolProvider } from "../../../src/ports/tool-provider.js";
import {
  modelStep,
  RecordingError,
  RecordingObserver,
  RecordingToolProvider,
  recordPorts,
  ReplayDrift,
  replayPorts,
  ScriptedModel,
  stopResponse,
  testConfig,
  testRuntime,
  textStream,
  toolCallsResponse,
  toolCallStream,
  toolOutcome,
  traceOf,
} from "../../../src/testkit/index.js";
import { call, rejectionOf } from "../../support/turns.js";

/** A recording that is kept in memory. */
const memoryFile = () => {
  const lines: string[] = [];
  return {
    write: (text: string): void => void lines.push(text),
    get text() {
      return lines.join("");
    },
  };
};

type Ports = { readonly model: ModelPort; readonly tools: readonly ToolProvider[] };

/** What a turn with these parts shows to its observers. */
const playedBy = async (ports: Ports, input = "go", system = "be brief"): Promise<readonly string[]> => {
  const observer = new RecordingObserver();
  const agent = await Agent.create({
    ...ports,
    sessions: [new MemorySessionStore()],
    observers: [observer],
    config: testConfig({ system }),
  });
  try {
    await agent.runTurn(input, "s");
  } finally {
    await agent.shutdown();
  }
  return traceOf(observer);
};

const shop = () =>
  new RecordingToolProvider({ name: "shop", trustAnnotations: true })
    .add("add", toolOutcome.progress(["half"], toolOutcome.ok({ sum: 3 })))
    .add("fail", toolOutcome.throws(new ToolError("timeout", "too slow")));

const conversation = () =>
  new ScriptedModel([
    modelStep.stream(
      toolCallStream("add", "c1", { a: 1 }),
      toolCallsResponse(call("add", "c1", { a: 1 }), call("fail", "c2")),
    ),
    modelStep.stream(textStream("the sum is 3", 4)),
  ]);

const recorded = async (ports: Ports = { model: conversation(), tools: [shop()] }, secrets?: readonly string[]) => {
  const file = memoryFile();
  const recording = await recordPorts(ports, file, { runtime: testRuntime(), ...(secrets && { secrets }) });
  const trace = await playedBy(recording.ports);
  await recording.close();
  return { text: file.text, trace };
};

const driftOf = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ReplayDrift);
  return (error as Error).message;
};

describe("a recording", () => {
  test("played back gives the same events, chunk by chunk, without asking anybody", async () => {
    const { text, trace } = await recorded();
    const replay = await replayPorts({ text });
    expect(await playedBy(replay.ports)).toEqual(trace);
    expect(trace.filter((line) => line.startsWith("streamChunk textDelta"))).toHaveLength(4);
    expect(trace).toContain("toolCallProgress c1");
    replay.assertDone();
    expect(replay.unused).toEqual([]);
  });

  test("has one line a call behind a head that names its version", async () => {
    const { text } = await recorded();
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ type }) => type)).toEqual(["recording", "list", "list", "model", "tool", "tool", "model"]);
    expect(lines[0]).toMatchObject({
      version: 1,
      model: { streaming: true },
      providers: [{ name: "shop", trustAnnotations: true }],
    });
    expect(lines[5]).toMatchObject({
      type: "tool",
      id: "c1",
      arguments: { a: 1 },
      progress: [[0, "half"]],
      end: { value: { sum: 3 } },
    });
  });

  test("changes nothing for the agent that is recorded", async () => {
    expect((await recorded()).trace).toEqual(await playedBy({ model: conversation(), tools: [shop()] }));
  });

  test("keeps when chunks came, and plays them back at that pace", async () => {
    const runtime = testRuntime();
    const file = memoryFile();
    const model = new ScriptedModel([modelStep.stream(textStream("a b", 2), undefined, { runtime, everyMs: 100 })]);
    const recording = await recordPorts({ model }, file, { runtime });
    const request = {
      messages: [],
      tools: [],
      options: {},
      signal: new AbortController().signal,
      sessionId: "s",
      turnId: "t",
      round: 1,
    };
    const done = recording.ports.model.chatStreaming?.(request, () => undefined);
    await runtime.advance(1_000);
    await done;
    await recording.close();
    const clock = testRuntime();
    const replay = await replayPorts({ text: file.text }, { pace: clock });
    const came: [number, StreamChunk][] = [];
    const again = replay.ports.model.chatStreaming?.(request, (chunk) => void came.push([clock.elapsed(), chunk]));
    await clock.advance(1_000);
    expect(await again).toEqual(stopResponse("a b"));
    expect(came.map(([ms]) => ms)).toEqual([100, 200, 300]);
  });

  test("plays errors back as what they were, and what came before them", async () => {
    const limited = new ModelError("rate-limit", "slow down", { status: 429, retryAfterMs: 7, provider: "p" });
    const { model } = { model: new ScriptedModel([modelStep.fail(limited, [{ type: "textDelta", text: "hal" }])]) };
    const file = memoryFile();
    const recording = await recordPorts({ model, tools: [] }, file);
    await rejectionOf(playedBy(recording.ports));
    await recording.close();
    const replay = await replayPorts({ text: file.text });
    const error = await rejectionOf(playedBy(replay.ports));
    expect(error.cause).toBeInstanceOf(ModelError);
    expect(error.cause).toMatchObject({ kind: "rate-limit", status: 429, retryAfterMs: 7, provider: "p" });
    expect(error.partial?.text).toBe("hal");
  });

  test("answers calls that run together by who asks, in whatever order they come, and ends them in the order of then", async () => {
    const tools = new RecordingToolProvider().add("add", toolOutcome.held());
    const file = memoryFile();
    const recording = await recordPorts({ model: new ScriptedModel([]), tools: [tools] }, file);
    const context = {
      sessionId: "s",
      turnId: "t",
      round: 1,
      requestedName: "add",
      executionId: "x",
      signal: new AbortController().signal,
    } as never;
    const [provider] = recording.ports.tools;
    const running = ["c1", "c2", "c3"].map(async (id) => provider?.execute(call("add", id), context));
    for (const id of ["c3", "c1", "c2"]) tools.settle(id, toolOutcome.ok(`for ${id}`));
    await Promise.all(running);
    await recording.close();
    const replay = await replayPorts({ text: file.text });
    const ended: string[] = [];
    const again = ["c2", "c3", "c1"].map(async (id) => {
      const answer = await replay.ports.tools[0]?.execute(call("add", id), context);
      ended.push(id);
      return answer;
    });
    expect(await Promise.all(again)).toEqual(["for c2", "for c3", "for c1"]);
    expect(ended).toEqual(["c3", "c1", "c2"]);
  });

  test("answers a call whose id is made anew by its name and arguments", async () => {
    const { text } = await recorded();
    const replay = await replayPorts({ text });
    const context = { signal: new AbortController().signal, progress: () => undefined } as never;
    expect(await replay.ports.tools[0]?.execute(call("add", "other", { a: 1 }), context)).toEqual({ sum: 3 });
  });

  test("holds what a provider's pure functions answered, so that bad arguments are refused offline too", async () => {
    const strict = () =>
      defineTool({
        name: "add",
        description: "adds",
        parameters: Type.Object({ a: Type.Number() }),
        execute: ({ a }) => a + 1,
      });
    const script = () =>
      new ScriptedModel([
        toolCallsResponse(call("add", "c1", { a: "x" }), call("add", "c2", { a: 1 })),
        stopResponse("done"),
      ]);
    const { text, trace } = await recorded({ model: script(), tools: [strict()] });
    expect(trace).toContain("toolCallResult c1 not-started error");
    expect(await playedBy((await replayPorts({ text })).ports)).toEqual(trace);
  });

  test("of tools with hooks of their own needs the real tools, and executes nothing of them", async () => {
    let executed = 0;
    const hooked = (): ToolProvider => ({
      name: "hooked",
      listTools: () => shop().listTools(),
      execute: () => void executed++,
      hooks: () => ({ beforeExecute: ({ args }) => ({ args: { ...args, checked: true } }) }),
    });
    const { text, trace } = await recorded({ model: conversation(), tools: [hooked()] });
    expect(executed).toBe(2);
    await expect(replayPorts({ text })).rejects.toThrow(
      "replayPorts: tool add has hooks of its own, which no file holds",
    );
    expect(await playedBy((await replayPorts({ text }, { tools: [hooked()] })).ports)).toEqual(trace);
    expect(executed).toBe(2);
  });

  test("of tools that change in the middle of a turn changes them at the same place", async () => {
    const growing = () => {
      const tools: RecordingToolProvider = new RecordingToolProvider().add("add", toolOutcome.held());
      const settle = async (): Promise<void> => {
        while (tools.execRecords.length === 0) await Promise.resolve();
        tools.add("more", toolOutcome.ok("even more"));
        tools.settle("c1", toolOutcome.ok("grown"));
      };
      return { tools, settle };
    };
    const script = new ScriptedModel([
      toolCallsResponse(call("add", "c1")),
      toolCallsResponse(call("more", "c2")),
      stopResponse("done"),
    ]);
    const { tools, settle } = growing();
    const [{ text, trace }] = await Promise.all([recorded({ model: script, tools: [tools] }), settle()]);
    expect(trace.filter((line) => line.startsWith("toolsResolved"))).toEqual([
      "toolsResolved add",
      "toolsResolved add more",
    ]);
    const replay = await replayPorts({ text });
    expect(await playedBy(replay.ports)).toEqual(trace);
    replay.assertDone();
  });

  test("holds calls that had not ended as open ones, which wait for an abort", async () => {
    const file = memoryFile();
    const recording = await recordPorts(
      { model: new ScriptedModel([modelStep.hang([{ type: "textDelta", text: "hal" }])]) },
      file,
    );
    const request = { messages: [], tools: [], options: {}, sessionId: "s", turnId: "t", round: 1 };
    const first = new AbortController();
    const left = recording.ports.model.chatStreaming?.({ ...request, signal: first.signal }, () => undefined);
    await recording.close();
    await recording.close();
    first.abort();
    await expect(left).rejects.toThrow("aborted");
    const replay = await replayPorts({ text: file.text });
    const stop = new AbortController();
    const chunks: StreamChunk[] = [];
    const again = replay.ports.model.chatStreaming?.(
      { ...request, signal: stop.signal },
      (chunk) => void chunks.push(chunk),
    );
    stop.abort();
    await expect(again).rejects.toMatchObject({ kind: "aborted" });
    expect(chunks).toEqual([{ type: "textDelta", text: "hal" }]);
  });
});

describe("a replay that is asked for something else", () => {
  test("names the call, the line, and the first path that differs", async () => {
    const { text } = await recorded();
    const replay = await replayPorts({ text });
    const message = await driftOf(playedBy(replay.ports, "go now"));
    expect(message).toBe(
      'replay_drift: model call 0 of round 1 is not what was recorded as model call 0 of round 1 (line 4):\n  messages[1].content[0].text is ""go now"", not ""go""'.replaceAll(
        '""',
        '"',
      ),
    );
    expect(() => replay.assertDone()).toThrow(ReplayDrift);
  });

  test("shows long texts around the place where they differ, and what is new or missing", async () => {
    const { text } = await recorded();
    const long = await driftOf(
      playedBy((await replayPorts({ text })).ports, "go", "be brief, but not so brief that nobody understands"),
    );
    expect(long).toContain("messages[0].content[0].text differs at character 8: it is ");
    const fewer = await driftOf(playedBy({ ...(await replayPorts({ text })).ports, tools: [] }));
    expect(fewer).toContain("tools[0] is missing (0 items, not 2): it was ");
  });

  test("of a tool with other arguments says so", async () => {
    const { text } = await recorded();
    const replay = await replayPorts({ text });
    const context = { signal: new AbortController().signal, progress: () => undefined } as never;
    const drift = driftOf(Promise.resolve(replay.ports.tools[0]?.execute(call("add", "c1", { a: 2 }), context)));
    expect(await drift).toBe(
      "replay_drift: tool add (call c1) is not what was recorded as tool add (call c1) (line 6):\n  arguments.a is 2, not 1",
    );
  });

  test("once too often says that the recording is used up; what was not asked for is listed", async () => {
    const { text } = await recorded();
    const replay = await replayPorts({ text });
    await playedBy(replay.ports);
    expect(await driftOf(playedBy(replay.ports))).toBe(
      "replay_exhausted: model call 2 of round 1 was not recorded (2 such calls were, and are used up)",
    );
    const unused = await replayPorts({ text });
    expect(() => unused.assertDone()).toThrow(
      [
        "replay_unfinished: 4 recorded calls were not made:",
        "model call 0 of round 1 (line 4)",
        "model call 1 of round 2 (line 7)",
        "tool fail (call c2) (line 5)",
        "tool add (call c1) (line 6)",
      ].join("\n  "),
    );
  });

  test("is not different in what normalise leaves out", async () => {
    const { text } = await recorded();
    const normalise = ({ messages, ...rest }: { readonly [key: string]: unknown }) =>
      ({
        ...rest,
        messages: (messages as readonly { role: string }[]).filter(({ role }) => role !== "system"),
      }) as never;
    const replay = await replayPorts({ text }, { normalise });
    await playedBy(replay.ports, "go", "today is another day");
    replay.assertDone();
  });
});

describe("secrets", () => {
  const KEY = "hunter2-hunter2";

  test("are in no line: not in requests, chunks cut anywhere, arguments, results, progress or errors", async () => {
    const said = `the key is ${KEY} and sk-abcdefghij0123456789`;
    const steps = [
      modelStep.stream([...textStream(said, 20).slice(0, -1), ...toolCallStream("add", "c1", { key: KEY })], {
        ...toolCallsResponse(call("add", "c1", { key: KEY }), call("fail", "c2", { password: "p" })),
      }),
      modelStep.fail(new ModelError("auth", `bad key ${KEY}`, { cause: new Error(`Bearer abc123def456`) })),
    ];
    const tools = new RecordingToolProvider()
      .add(
        "add",
        toolOutcome.progress(["hunter2", "-hunter2"], toolOutcome.ok({ note: Buffer.from(KEY).toString("base64") })),
      )
      .add("fail", toolOutcome.throws(new Error(KEY)));
    const file = memoryFile();
    const recording = await recordPorts({ model: new ScriptedModel(steps), tools: [tools] }, file, { secrets: [KEY] });
    await rejectionOf(playedBy(recording.ports, `my key is ${KEY}`, `authorization=${KEY}`));
    await recording.close();
    const { text } = file;
    for (const leak of [
      KEY,
      "hunter2",
      "sk-abcdef",
      "0123456789",
      '"p"',
      "abc123def456",
      Buffer.from(KEY).toString("base64").slice(0, 10),
    ])
      expect(text, leak).not.toContain(leak);
    expect(text).toContain("[secret]");
    // Offline there is no key: what stands in for it is any text, and everything else is compared.
    const replay = await replayPorts({ text });
    await rejectionOf(playedBy(replay.ports, "my key is 12345678", "authorization=none"));
    replay.assertDone();
    const drift = await driftOf(
      playedBy((await replayPorts({ text })).ports, "your key is 12345678", "authorization=none"),
    );
    expect(drift).toContain("messages[1].content[0].text");
  });

  test("are in no drift", async () => {
    const { text } = await recorded();
    const drift = await driftOf(playedBy((await replayPorts({ text }, { secrets: [KEY] })).ports, `go ${KEY}`));
    expect(drift).toContain('is "go [secret]", not "go"');
  });
});

describe("a recording in a file", () => {
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "ennead-recording-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test("is written line by line, for its owner alone, and read back", async () => {
    const file = join(directory, "bug.jsonl");
    const recording = await recordPorts({ model: conversation(), tools: [shop()] }, file);
    const trace = await playedBy(recording.ports);
    await recording.close();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, "utf8")).split("\n")).toHaveLength(8);
    expect(await playedBy((await replayPorts(file)).ports)).toEqual(trace);
  });

  test("is replaced only by whoever says so", async () => {
    const file = join(directory, "kept.jsonl");
    await writeFile(file, "precious");
    await expect(recordPorts({ model: conversation() }, file)).rejects.toMatchObject({ kind: "exists" });
    expect(await readFile(file, "utf8")).toBe("precious");
    await (await recordPorts({ model: conversation() }, file, { replace: true })).close();
    expect(await readFile(file, "utf8")).toMatch(/^\{"type":"recording"/);
  });

  test.each<[string, (text: string) => string | Uint8Array, Partial<RecordingError>]>([
    ["is empty", () => "", { kind: "damaged", line: 1 }],
    ["is something else", () => '{"role":"user"}\n', { kind: "damaged", line: 1 }],
    ["is of a later version", (text) => text.replace('"version":1', '"version":2'), { kind: "version", line: 1 }],
    ["was cut in a line", (text) => text.slice(0, -20), { kind: "damaged", line: 7 }],
    ["has a line that is no JSON", (text) => text.replace(/\n\{/, "\n<"), { kind: "damaged", line: 2 }],
    [
      "has a line of an unknown type",
      (text) => text.replace('"type":"tool"', '"type":"fool"'),
      { kind: "damaged", line: 5 },
    ],
    [
      "has chunks that are none",
      (text) => text.replace('"chunks":[[', '"chunks":[["x",'),
      { kind: "damaged", line: 4 },
    ],
    [
      "holds bytes that are no text",
      (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 10])]),
      { kind: "damaged", line: 8 },
    ],
  ])("that %s is refused with its line", async (title, damage, error) => {
    const file = join(directory, `${title.replaceAll(" ", "-")}.jsonl`);
    await writeFile(file, damage((await recorded()).text));
    const refused: unknown = await replayPorts(file).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(RecordingError);
    expect(refused).toMatchObject(error);
    expect((refused as Error).message).toContain(error.kind === "version" ? "up to 1" : `line ${error.line}`);
  });

  test("that is not there, or cannot be made, is refused with a typed error", async () => {
    await expect(replayPorts(join(directory, "no.jsonl"))).rejects.toMatchObject({
      name: "RecordingError",
      kind: "unreadable",
    });
    const nowhere = recordPorts({ model: conversation() }, join(directory, "no", "where.jsonl"));
    await expect(nowhere).rejects.toMatchObject({ name: "RecordingError", kind: "unwritable" });
  });

  test("whose disk is full says so at its end, and disturbs no turn", async () => {
    let written = 0;
    const full = { write: () => (written++ === 0 ? undefined : Promise.reject(new Error("ENOSPC"))) };
    const recording = await recordPorts({ model: conversation(), tools: [shop()] }, full);
    await playedBy(recording.ports);
    await expect(recording.close()).rejects.toMatchObject({ name: "RecordingError", kind: "unwritable" });
    expect(written).toBe(2);
  });
});
