import { expect, test } from "vitest";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { userMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { AgentConfig } from "../../src/ports/agent-config.js";
import type { StepScope } from "../../src/ports/step-scope.js";
import {
  RecordingCompressor,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { countOf, expectDelivered, firstSent } from "../support/levers.js";
import { thenNothing } from "../support/then-nothing.js";
import { expectLawful, hookAt } from "../support/turns.js";

const replies = ["one", "two", "three", "four", "five"].map(stopResponse);

/** A turn whose first reply calls a tool that runs until `tools.settle("c1", ...)`. */
async function held(config: AgentConfig = {}, options: TestAgentOptions = {}) {
  const tools = new RecordingToolProvider().add("f", toolOutcome.held());
  const t = await testAgent({ script: [toolCallResponse("f", "c1"), ...replies], tools, config, ...options });
  const turn = t.agent.startTurn("hi", "s");
  await tools.started("c1");
  return { t, tools, turn, finish: () => tools.settle("c1", toolOutcome.ok("fine")) };
}

/** What each request adds to the one before. */
function added(t: Awaited<ReturnType<typeof held>>["t"]): string[][] {
  const requests = t.model.requests.map(({ messages }) => linesOf(messages));
  return requests.map((lines, index) => lines.slice(requests[index - 1]?.length ?? 0));
}

test("steering one at a time: each waiting message has a round of its own, in the order they came (L3)", async () => {
  const { t, turn, finish } = await held();
  await using _ = t;
  for (const text of ["a", "b", "c"]) expect(turn.steer(text)).toBe(true);
  finish();
  const result = await turn.result;
  const calls = ["calls c1", "c1 = fine", "user a"];
  expect(added(t)).toEqual([["user hi"], calls, ["assistant one", "user b"], ["assistant two", "user c"]]);
  expect(result).toMatchObject({ status: "completed", text: "three", undelivered: [], rounds: 4 });
  expect(linesOf(result.messages)).toEqual(await stored(t));
});

test("steering all at once: one round gets everything that waits, in the order it came (L3)", async () => {
  const { t, turn, finish } = await held({ steerMode: "all" });
  await using _ = t;
  for (const text of ["a", "b", "c"]) turn.steer(text);
  finish();
  expect((await turn.result).text).toBe("one");
  expect(added(t)[1]).toEqual(["calls c1", "c1 = fine", "user a", "user b", "user c"]);
});

test.each<["one" | "all", string[][]]>([
  [
    "one",
    [
      ["assistant one", "user x"],
      ["assistant two", "user y"],
    ],
  ],
  ["all", [["assistant one", "user x", "user y"]]],
])("follow-ups wait for the natural end, and go in by mode %s (L3)", async (followUpMode, ends) => {
  const { t, turn, finish } = await held({ followUpMode });
  await using _ = t;
  for (const text of ["x", "y"]) expect(turn.followUp(text)).toBe(true);
  finish();
  await turn.result;
  expect(added(t).slice(1)).toEqual([["calls c1", "c1 = fine"], ...ends]);
});

test("steering goes before follow-ups, also before those that came first (L3)", async () => {
  const { t, turn, finish } = await held({ followUpMode: "all" });
  await using _ = t;
  turn.followUp("x");
  turn.steer("a");
  turn.followUp("y");
  turn.steer("b");
  finish();
  await turn.result;
  expect(added(t).slice(1)).toEqual([
    ["calls c1", "c1 = fine", "user a"],
    ["assistant one", "user b"],
    ["assistant two", "user x", "user y"],
  ]);
});

test("steering that comes while a follow-up is answered does not wait for the other follow-ups (L3)", async () => {
  const hook = hookAt("beforeModel", (_, { round }) => void (round === 3 && turn.steer("a")));
  const { t, turn, finish } = await held({}, { hooks: [hook] });
  await using _ = t;
  for (const text of ["x", "y"]) turn.followUp(text);
  finish();
  await turn.result;
  expect(added(t).slice(2)).toEqual([
    ["assistant one", "user x"],
    ["assistant two", "user a"],
    ["assistant three", "user y"],
  ]);
});

test("steering that comes as the round of a follow-up starts goes first (L3)", async () => {
  const { t, turn, finish } = await held();
  await using _ = t;
  turn.subscribe((event) => void (event.type === "roundStarted" && event.round === 3 && turn.steer("a")));
  turn.followUp("x");
  finish();
  await turn.result;
  expect(added(t).slice(2)).toEqual([
    ["assistant one", "user a"],
    ["assistant two", "user x"],
  ]);
});

test("each message is told as added once, behind the results of the batch (L3, T4)", async () => {
  const { t, turn, finish } = await held();
  await using _ = t;
  turn.steer("a");
  finish();
  await turn.result;
  const told = t.observer.events.map((event) =>
    event.type === "messageAdded" ? linesOf([event.message])[0] : event.type,
  );
  expect(told.filter((line) => line === "user a")).toHaveLength(1);
  expect(told.slice(told.indexOf("toolCallResult"), told.indexOf("user a") + 1)).toEqual([
    "toolCallResult",
    "roundEnded",
    "roundStarted",
    "user a",
  ]);
});

test("a message with parts, a name and metadata comes as it was given; an instruction may be one (L3)", async () => {
  const { t, turn, finish } = await held({ steerMode: "all" });
  await using _ = t;
  turn.steer(userMessage([{ type: "text", text: "look" }], { name: "Ann", metadata: { from: "chat" } }));
  turn.steer({ role: "system", content: "be brief" });
  finish();
  await turn.result;
  expect(t.model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: "user", name: "Ann", metadata: { from: "chat" }, content: [{ type: "text", text: "look" }] },
    { role: "system", content: [{ type: "text", text: "be brief" }] },
  ]);
});

test("a message is copied at once: what the caller changes later changes nothing (L3)", async () => {
  const { t, turn, finish } = await held();
  await using _ = t;
  const content = [{ type: "text" as const, text: "as said" }];
  turn.steer({ role: "user", content });
  (content[0] as { text: string }).text = "changed";
  content.length = 0;
  finish();
  await turn.result;
  expect(sent(t).at(-1)).toBe("user as said");
});

test("turns on several sessions have what was given to their own handle (L3, A3)", async () => {
  const tools = new RecordingToolProvider().add("f", toolOutcome.held());
  const script = ["c1", "c2"].map((id) => toolCallResponse("f", id));
  await using t = await testAgent({ script: [...script, ...replies], tools });
  const turns = ["s1", "s2"].map((id) => t.agent.startTurn(`to ${id}`, id));
  await Promise.all([tools.started("c1"), tools.started("c2")]);
  turns.forEach((turn, index) => turn.steer(`for s${index + 1}`));
  for (const id of ["c1", "c2"]) tools.settle(id, toolOutcome.ok("fine"));
  await Promise.all(turns.map(({ result }) => result));
  for (const id of ["s1", "s2"]) {
    expect((await stored(t, id)).filter((line) => line.startsWith("user"))).toEqual([
      `user to ${id}`,
      `user for ${id}`,
    ]);
    await expectLawful(t, id);
  }
});

test.each(["steer", "followUp"] as const)("%s while the turn waits for its session's lock (L3, T1)", async (lever) => {
  const { t, turn: first, finish } = await held();
  await using _ = t;
  const second = t.agent.startTurn("second", "s");
  await t.runtime.advance(0);
  const accepted = second[lever]("psst");
  finish();
  await first.result;
  expect(countOf("psst", (await first.result).messages)).toBe(0);
  expect(await expectDelivered(t, { text: "psst", accepted }, await second.result)).toBe("session");
  const users = (await stored(t)).filter((line) => line.startsWith("user"));
  expect(users).toEqual(["user hi", "user second", "user psst"]);
});

test.each(["steer", "followUp"] as const)("%s while the turn waits for another's lease (L3, S2)", async (lever) => {
  await using t = await testAgent({ script: replies, config: { turnLeaseMs: 1_000 } });
  const until = t.runtime.now() + 1_000;
  t.sessions.seed("s", { metadata: { [SESSION_KEYS.turn]: { turnId: "elsewhere", until } } });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(500);
  expect(t.model.callCount).toBe(0);
  const accepted = turn[lever]("psst");
  await t.runtime.advance(1_500);
  expect(await expectDelivered(t, { text: "psst", accepted }, await turn.result)).toBe("session");
  expect(firstSent(t, "psst")).toBe(lever === "steer" ? 0 : 1);
});

test("agent.steer finds the turn that runs on the session, and is false where none does (L3)", async () => {
  const { t, turn, finish } = await held();
  await using _ = t;
  expect(t.agent.steer("elsewhere", "psst")).toBe(false);
  expect(t.agent.steer("s", "psst")).toBe(true);
  finish();
  await turn.result;
  expect(t.agent.steer("s", "late")).toBe(false);
  expect(added(t)[1]).toEqual(["calls c1", "c1 = fine", "user psst"]);
});

test("agent.steer meets the turn that runs, not the one that waits; then that one (L3, T1)", async () => {
  const { t, turn: first, tools, finish } = await held({ steerMode: "all" });
  await using _ = t;
  const second = t.agent.startTurn("second", "s", { config: { maxToolRounds: 5 } });
  await t.runtime.advance(0);
  expect(t.agent.steer("s", "for the first")).toBe(true);
  finish();
  expect(linesOf((await first.result).messages)).toContain("user for the first");
  tools.add("f", toolOutcome.ok("fine"));
  expect(t.agent.steer("s", "for the second")).toBe(true);
  expect(linesOf((await second.result).messages)).toContain("user for the second");
  expect((await stored(t)).filter((line) => line.includes("for the"))).toHaveLength(2);
});

test("between the end of one turn and its last listener, agent.steer meets the turn that waits (L3, T7)", async () => {
  const { t, turn: first, finish } = await held();
  await using _ = t;
  const answers: boolean[] = [];
  first.subscribe(({ type }) => void (type === "turnCompleted" && answers.push(t.agent.steer("s", "psst"))));
  const second = t.agent.startTurn("second", "s");
  await t.runtime.advance(0);
  finish();
  expect((await first.result).undelivered).toEqual([]);
  const accepted = answers[0];
  expect(await expectDelivered(t, { text: "psst", accepted }, await second.result)).toBe("session");
  expect(linesOf((await second.result).messages)).toContain("user psst");
});

test("after a redirect a message is found under the new session, and no more under the old one (L3, S5)", async () => {
  const compressor = new RecordingCompressor(
    thenNothing([
      { type: "none" },
      (messages) => ({
        type: "newThread",
        messages: [userMessage("in short"), ...messages.slice(-4)],
        newSessionId: "child",
        messagesBefore: messages.length,
        messagesAfter: 5,
      }),
    ]),
  );
  const tools = new RecordingToolProvider().add("f", toolOutcome.held());
  const script = ["c1", "c2"].map((id) => toolCallResponse("f", id));
  await using t = await testAgent({ script: [...script, ...replies], tools, compressors: [compressor] });
  t.sessions.seed("s", { messages: [user("u0", "x".repeat(4_000)), reply("a0"), user("u1"), reply("a1")] });
  const turn = t.agent.startTurn("hi", "s");
  await tools.started("c1");
  expect(t.agent.steer("s", "before")).toBe(true);
  tools.settle("c1", toolOutcome.ok("fine"));
  await tools.started("c2");
  expect(t.observer.ofType("sessionRedirect")).toHaveLength(1);
  expect([t.agent.steer("s", "lost"), t.agent.steer("child", "behind")]).toEqual([false, true]);
  tools.settle("c2", toolOutcome.ok("fine"));
  const result = await turn.result;
  expect(result.finalSessionId).toBe("child");
  expect(await stored(t, "child")).toContain("user behind");
  expect(await stored(t, "s")).not.toContain("user behind");
  await expectLawful(t, "child");
});

test("a look outside that cannot be recorded has still taken what it took: nothing is lost or doubled (L3, L7)", async () => {
  const { t, turn: first, finish } = await held();
  await using _ = t;
  finish();
  await first.result;
  const inner = new InProcessScope({ signal: new AbortController().signal, runtime: t.runtime });
  const failing: StepScope = {
    step: async (name, run, options) => {
      const outcome = await inner.step(name, run, options);
      return name.startsWith("poll#") ? { ok: false, error: new Error("not recorded") } : outcome;
    },
    bounded: inner.bounded.bind(inner),
    all: inner.all.bind(inner),
  };
  const turn = t.agent.startTurn("again", "s", { stepScope: failing });
  const accepted = turn.steer("psst");
  expect(await expectDelivered(t, { text: "psst", accepted }, await turn.result)).toBe("session");
  expect(sent(t).slice(-2)).toEqual(["user again", "user psst"]);
});
