import { expect, test } from "vitest";
import type { TurnEvent } from "../../src/domain/event.js";
import {
  modelStep,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  textStream,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { sqliteFixture } from "../adapters/sessions/sqlite-fixture.js";
import { linesOf, sent, stored } from "../support/conversations.js";
import { countOf, ToldStore } from "../support/levers.js";
import { callsOf, expectLawful, terminals } from "../support/turns.js";

test("F064: a message typed while a tool runs stands behind its result, in the request and in the session", async () => {
  await using fixture = sqliteFixture();
  const tools = new RecordingToolProvider().add("slow", toolOutcome.held());
  const script = [toolCallResponse("slow", "c1"), stopResponse("ok")];
  await using t = await testAgent({ script, tools, sessions: [fixture.store] });
  const turn = t.agent.startTurn("export it", "s");
  await tools.started("c1");
  expect(turn.steer("use csv")).toBe(true);
  tools.settle("c1", toolOutcome.ok("done"));
  await turn.result;
  const order = ["user export it", "calls c1", "c1 = done", "user use csv"];
  expect(sent(t)).toEqual(order);
  expect(await stored(t)).toEqual([...order, "assistant ok"]);
});

/** Two sequential calls; "stop that" comes during the first, and the turn is aborted when `abortAt` says so. */
async function steeredAndAborted(
  abortAt: (moment: { readonly event?: TurnEvent; readonly write?: readonly string[] }) => boolean,
) {
  const tools = new RecordingToolProvider().add(
    { ...toolDef("f"), executionMode: "sequential" },
    toolOutcome.ok("fine"),
  );
  const store = new ToldStore();
  const t = await testAgent({ script: [callsOf("f", "f"), stopResponse("back")], tools, sessions: [store] });
  const turn = t.agent.startTurn("go", "s");
  let aborted = false;
  const abort = (wanted: boolean): void => {
    if (!wanted || aborted) return;
    aborted = true;
    turn.abort();
  };
  let steered = false;
  turn.subscribe((event) => {
    if (event.type === "toolCallStarted" && !steered) steered = turn.steer("stop that");
    abort(abortAt({ event }));
  });
  store.onAppend = ({ messages }) => abort(abortAt({ write: linesOf(messages) }));
  await t.runtime.advance(1_000);
  return { t, result: await turn.result, steered };
}

/** "stop that" is in the next request once, or was told as undelivered. */
async function expectOnce({
  t,
  result,
  steered,
}: Awaited<ReturnType<typeof steeredAndAborted>>): Promise<"sent" | "told"> {
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("continue", "s")).text).toBe("back");
  const inRequest = sent(t).filter((line) => line === "user stop that").length;
  const told = countOf("stop that", result.undelivered);
  expect(inRequest + told).toBe(steered ? 1 : 0);
  await expectLawful(t, "s");
  return inRequest === 1 ? "sent" : "told";
}

test("F101: an abort after the queue was drained and before the message is stored loses and doubles nothing", async () => {
  const played = await steeredAndAborted(({ write }) => write?.includes("user stop that") === true);
  await using _ = played.t;
  expect(played.result.status).toBe("aborted");
  expect(await expectOnce(played)).toBe("sent");
});

test("F101: wherever the abort falls, the message is in the next request once or is told", async () => {
  const found = new Set<string>();
  let aborted = true;
  for (let moment = 0; aborted; moment++) {
    let left = moment;
    const played = await steeredAndAborted(() => left-- === 0);
    await using _ = played.t;
    aborted = played.result.status === "aborted";
    if (played.steered) found.add(await expectOnce(played));
  }
  expect([...found].sort()).toEqual(["sent", "told"]);
});

test("F102: a follow-up that comes while the last text streams is answered without another call", async () => {
  const script = [modelStep.stream(textStream("a is done", 3)), stopResponse("b too")];
  await using t = await testAgent({ script });
  const turn = t.agent.startTurn("do a", "s");
  const answers: boolean[] = [];
  turn.subscribe(
    ({ type }) => void (type === "streamChunk" && answers.length === 0 && answers.push(turn.followUp("and now b"))),
  );
  expect(await turn.result).toMatchObject({ text: "b too", undelivered: [] });
  expect(answers).toEqual([true]);
  expect(await stored(t)).toEqual(["user do a", "assistant a is done", "user and now b", "assistant b too"]);
});

test("F102: a follow-up in the listener of the turn's end is refused, and is stuck nowhere", async () => {
  await using t = await testAgent({ script: [stopResponse("a is done"), stopResponse("next")] });
  const turn = t.agent.startTurn("do a", "s");
  const answers: boolean[] = [];
  turn.subscribe((event) => void (terminals([event]).length > 0 && answers.push(turn.followUp("and now b"))));
  expect((await turn.result).undelivered).toEqual([]);
  expect(answers).toEqual([false]);
  await t.agent.runTurn("next", "s");
  expect(await stored(t)).not.toContain("user and now b");
});
