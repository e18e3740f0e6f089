import { expect, test } from "vitest";
import type { AgentError } from "../../src/domain/errors.js";
import type { TurnEvent } from "../../src/domain/event.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { StageKind } from "../../src/domain/stage.js";
import type { StageContext } from "../../src/ports/hook.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import { modelStep, stopResponse, testAgent, textStream, toolDef } from "../../src/testkit/index.js";
import { linesOf } from "../support/conversations.js";
import { expectDelivered, firstSent, ToldStore } from "../support/levers.js";
import { callsOf, expectLawful, hookAt, terminals } from "../support/turns.js";

type Lever = "steer" | "followUp";
type Place = number | "undelivered" | "refused";
/** Where a message is pulled in, and in which request it is sent first: as steering, and as a follow-up. */
type Moment = {
  readonly name: string;
  readonly steer: Place;
  readonly followUp: Place;
  readonly stage?: StageKind;
  readonly event?: TurnEvent["type"];
  /** Which stage or event of this kind, from 1. */
  readonly nth?: number;
  readonly at?: "start" | "load" | "first write" | "reply's write" | "last write" | "tool" | "after";
  readonly wish?: (context: StageContext) => unknown;
};

const before = { steer: 0, followUp: 2 } as const;
const during = { steer: 1, followUp: 2 } as const;
const atEnd = { steer: 2, followUp: 2 } as const;
const over = { steer: "refused", followUp: "refused" } as const;

/** Round 1 calls two tools, round 2 would be the last. */
const moments: readonly Moment[] = [
  { name: "right after it was made", at: "start", ...before },
  { name: "in beforeTurn", stage: "beforeTurn", ...before },
  { name: "when it is told to have started", event: "turnStarted", ...before },
  { name: "while the session is loaded", at: "load", ...before },
  { name: "while the input is stored", at: "first write", ...before },
  { name: "when the input is told", event: "messageAdded", ...before },
  { name: "in beforeTools", stage: "beforeTools", ...before },
  { name: "in chooseTools", stage: "chooseTools", ...before },
  { name: "when the first round starts", event: "roundStarted", ...before },
  { name: "in beforeContext", stage: "beforeContext", ...during },
  { name: "in beforeModel", stage: "beforeModel", ...during },
  { name: "while the model streams", event: "streamChunk", ...during },
  { name: "in afterModel", stage: "afterModel", ...during },
  { name: "when a reply with calls is told", event: "modelResponse", ...during },
  { name: "in beforeTool", stage: "beforeTool", ...during },
  { name: "in admitTool", stage: "admitTool", ...during },
  { name: "when a call starts", event: "toolCallStarted", ...during },
  { name: "while a tool runs", at: "tool", ...during },
  { name: "in afterTool", stage: "afterTool", ...during },
  { name: "in settleTool", stage: "settleTool", ...during },
  { name: "when the first of two results is told", event: "toolCallResult", ...during },
  { name: "when the first round has ended", event: "roundEnded", ...during },
  { name: "in beforeContinue", stage: "beforeContinue", ...during },
  { name: "when the second round starts", event: "roundStarted", nth: 2, ...during },
  { name: "in beforeModel of the second round", stage: "beforeModel", nth: 2, ...atEnd },
  { name: "while the last reply streams", event: "streamChunk", nth: 4, ...atEnd },
  { name: "in afterModel of the last reply", stage: "afterModel", nth: 2, ...atEnd },
  { name: "when the last reply is told", event: "modelResponse", nth: 2, ...atEnd },
  { name: "while the last reply is stored", at: "reply's write", ...atEnd },
  { name: "when the last round has ended", event: "roundEnded", nth: 2, ...atEnd },
  { name: "in beforeContinue at the natural end", stage: "beforeContinue", nth: 2, ...atEnd },
  { name: "in beforeEnd that wants nothing", stage: "beforeEnd", ...atEnd },
  { name: "in beforeEnd that waits", stage: "beforeEnd", ...atEnd, wish: (context) => context.wait("for you") },
  { name: "in beforeEnd that goes on", stage: "beforeEnd", steer: 2, followUp: 3, wish: (context) => context.goOn() },
  { name: "during the last write", at: "last write", steer: "undelivered", followUp: "undelivered" },
  { name: "in afterTurn", stage: "afterTurn", ...over },
  { name: "in a listener of the terminal event", event: "turnCompleted", ...over },
  { name: "when it is over", at: "after", ...over },
];

/** Calls `pull` at the nth time it is itself called. */
function nth(count = 1, pull: () => void): () => void {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen === count) pull();
  };
}

function storeTelling(at: Moment["at"], pull: () => void): ToldStore {
  const store = new ToldStore();
  const first = nth(1, pull);
  store.onLoad = () => (at === "load" ? first() : undefined);
  store.onAppend = ({ unset, messages }) => {
    if (at === "first write") first();
    if (at === "last write" && unset?.includes(SESSION_KEYS.turn) === true) pull();
    if (at === "reply's write" && linesOf(messages).includes("assistant done")) pull();
  };
  return store;
}

/** A turn that calls two tools and then says "done", with "psst" pulled in at this moment; afterwards "more" and "still more". */
async function play(moment: Moment, lever: Lever) {
  let accepted: boolean | undefined;
  const pull = (): void => void (accepted ??= turn[lever]("psst"));
  const provider: ToolProvider = {
    listTools: () => [toolDef("f")],
    execute: () => (moment.at === "tool" ? pull() : undefined, "fine"),
  };
  const onStage = nth(moment.nth, pull);
  const hook = hookAt(moment.stage ?? [], (_, context) => {
    const asked = accepted;
    onStage();
    return asked === undefined ? moment.wish?.(context) : undefined;
  });
  const script = [
    modelStep.stream(textStream("calling", 2), callsOf("f", "f")),
    modelStep.stream(textStream("done", 2)),
    stopResponse("more"),
    stopResponse("still more"),
  ];
  const sessions = [storeTelling(moment.at, pull)];
  const t = await testAgent({ script, providers: [provider], hooks: [hook], sessions });
  const turn = t.agent.startTurn("hi", "s");
  if (moment.at === "start") pull();
  const onEvent = nth(moment.nth, pull);
  turn.subscribe(({ type }) => (type === moment.event ? onEvent() : undefined));
  const result = await turn.result;
  if (moment.at === "after") pull();
  return { t, result, accepted };
}

const toldOf = (place: Place): string =>
  typeof place === "number" ? `is first sent in request ${place + 1}` : `is ${place}`;

const cases = moments.flatMap((moment) =>
  (["steer", "followUp"] as const).map((lever) => ({ lever, moment, place: moment[lever] })),
);

test.each(cases.map((given) => [given.lever, given.moment.name, toldOf(given.place), given] as const))(
  "a %s %s %s (L3)",
  async (_lever, _name, _told, { lever, moment, place }) => {
    const { t, result, accepted } = await play(moment, lever);
    await using _t = t;
    const found = await expectDelivered(t, { text: "psst", accepted }, result);
    expect(found).toBe(typeof place === "number" ? "session" : place);
    expect(firstSent(t, "psst")).toBe(typeof place === "number" ? place : -1);
    if (typeof place === "number") expect(linesOf(t.model.requests[place]?.messages).at(-1)).toBe("user psst");
    expect(result.status).toBe("completed");
    expect(terminals(t.observer.events)).toEqual(["turnCompleted"]);
    await expectLawful(t, "s");
  },
);

test.each(["stop", "abort"] as const)("what came before beforeTurn says %s is undelivered (T2, L3)", async (end) => {
  const accepted: boolean[] = [];
  const hook = hookAt("beforeTurn", (_, context) => {
    accepted.push(turn.steer("psst"), turn.followUp("and"));
    return context[end]("not today");
  });
  await using t = await testAgent({ hooks: [hook] });
  const turn = t.agent.startTurn("hi", "s");
  const over = await turn.result.catch((error: AgentError) => error.partial);
  expect(accepted).toEqual([true, true]);
  expect(linesOf(over?.undelivered).slice(-2)).toEqual(["user psst", "user and"]);
  expect(turn.steer("late")).toBe(false);
  expect((await t.agent.session("s")).messages).toEqual([]);
});
