import { beforeAll, expect, test } from "vitest";
import {
  ConversingModel,
  crashPoints,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
  traceDifference,
} from "../../src/testkit/index.js";
import { enneadMatchers } from "../../src/testkit/vitest.js";
import { callingWith, user } from "../support/conversations.js";
import { call } from "../support/turns.js";

beforeAll(() => {
  expect.extend(enneadMatchers);
});

const messageOf = (assertion: () => void): string => {
  try {
    assertion();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the assertion holds");
};

const turn = async () => {
  await using t = await testAgent({
    script: [toolCallResponse("add", "c1"), stopResponse("done")],
    tools: { add: toolOutcome.ok("3") },
  });
  await t.agent.runTurn("go", "s");
  return { observer: t.observer, session: await t.agent.session("s") };
};

const GOLDEN = `
  turnStarted
  messageAdded user "go"
  toolsResolved add
  roundStarted 1
  modelResponse tool-calls
  toolCallPending c1 add
  toolCallStarted c1 add
  toolCallResult c1 completed
  roundEnded 1
  roundStarted 2
  modelResponse stop
  roundEnded 2
  turnCompleted
`;

const without = ["messageStarted"] as const;

test("toMatchTrace compares with a golden trace, and shows what is missing and what is there, aligned and numbered", async () => {
  const { observer } = await turn();
  expect(observer).toMatchTrace(GOLDEN, { without });
  expect(observer.events).not.toMatchTrace("turnStarted");
  const other = GOLDEN.replace("  toolCallStarted c1 add\n", "").replace("modelResponse stop", "modelResponse length");
  expect(messageOf(() => expect(observer).toMatchTrace(other, { without }))).toBe(
    [
      "the trace differs: 1 missing (-), 2 unexpected (+)",
      "  …",
      "   4 modelResponse tool-calls",
      "   5 toolCallPending c1 add",
      "+  6 toolCallStarted c1 add",
      "   7 toolCallResult c1 completed",
      "   8 roundEnded 1",
      "   9 roundStarted 2",
      "-  9 modelResponse length",
      "+ 10 modelResponse stop",
      "  11 roundEnded 2",
      "  12 turnCompleted",
    ].join("\n"),
  );
});

test("toEqualEvents and toContainEvents say which event does not come", async () => {
  const { observer } = await turn();
  expect(observer).toContainEvents(["toolCallPending", { type: "toolCallResult", isError: false }, "turnCompleted"]);
  expect(observer).not.toContainEvents(["turnCompleted", "turnStarted"]);
  expect(messageOf(() => expect(observer).toContainEvents(["turnAborted"]))).toContain(
    "expected event 0 (turnAborted) is missing",
  );
  expect(messageOf(() => expect(observer).toEqualEvents(["turnStarted"]))).toContain(
    "event 1: unexpected: messageAdded",
  );
});

test("toKeepTranscriptLaw names every violation", async () => {
  const { session } = await turn();
  expect(session).toKeepTranscriptLaw();
  const broken = [user("go"), callingWith("a", call("f", "c1"))];
  expect(broken).not.toKeepTranscriptLaw();
  expect(broken).toKeepTranscriptLaw({ pending: ["c1"] });
  expect(messageOf(() => expect(broken).toKeepTranscriptLaw())).toContain('call "c1" has no result');
});

test("toSurviveEveryCrash shows the report", async () => {
  const model = () => ({ model: new ConversingModel([stopResponse("done")]) });
  expect(await crashPoints({ ports: model, input: "go" })).toSurviveEveryCrash();
  const tools = [
    { listTools: () => [{ name: "pay", description: "", inputSchema: { type: "object" } }], execute: () => "paid" },
  ];
  const ports = () => ({
    model: new ConversingModel([toolCallResponse("pay", "c1"), stopResponse("done")]),
    tools,
    config: { persistence: "turn" as const },
  });
  const unsafe = await crashPoints({ ports, input: "go" });
  expect(messageOf(() => expect(unsafe).toSurviveEveryCrash())).toContain("repeated: tool pay (call c1) ran 2 times");
});

test("a difference of long traces leaves out what agrees, and one of traces without anything in common shows both", () => {
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`);
  expect(traceDifference(lines, lines)).toBeUndefined();
  expect(traceDifference(lines, lines.with(20, "other"))?.split("\n")).toHaveLength(9);
  expect(traceDifference(["a", "b"], ["c"])).toBe(
    "the trace differs: 2 missing (-), 1 unexpected (+)\n- 0 a\n- 1 b\n+ 0 c",
  );
  const many = (word: string): string[] => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`);
  expect(traceDifference(many("a"), many("b"))?.split("\n")).toHaveLength(6_001);
});
