import { expect, test } from "vitest";
import { EventBus } from "../../src/agent/observers.js";
import type { TurnEvent } from "../../src/domain/event.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { hookAt, never, rejectionOf, terminals } from "../support/turns.js";

const types = (events: readonly TurnEvent[]): string[] => events.map(({ type }) => type);

test("what beforeTurn emits follows turnStarted (T2)", async () => {
  const hook = hookAt("beforeTurn", (_, context) => void context.emit("note", { n: 1 }));
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(types(t.observer.events).slice(0, 3)).toEqual(["turnStarted", "custom", "messageAdded"]);
  expect(t.observer.events.map(({ seq }) => seq)).toEqual(t.observer.events.map((_, index) => index));
});

test.each(["stop", "abort"] as const)(
  "a turn that ends by %s in beforeTurn publishes nothing and reports what failed afterwards (T2, T5)",
  async (end) => {
    const stage = end === "stop" ? "afterTurn" : "turnError";
    const hooks = [
      hookAt(
        ["beforeTurn", stage],
        (at, context) => {
          context.emit("note", {});
          if (at.kind === "beforeTurn") return context[end]("enough");
          throw new Error("late");
        },
        "h",
      ),
    ];
    await using t = await testAgent({ hooks });
    const turn = t.agent.runTurn("hi", "s");
    if (end === "stop") expect((await turn).status).toBe("stopped");
    else expect((await rejectionOf(turn)).kind).toBe("hook-aborted");
    expect(t.observer.events).toEqual([]);
    expect(t.secondaryFailures).toEqual([{ stage, operation: "hook h", errorCategory: "Error" }]);
  },
);

test("nothing follows the terminal event, no chunk either (T3)", () => {
  const seen: string[] = [];
  const receivers = [{ kind: "observer" as const, deliver: ({ type }: TurnEvent) => void seen.push(type) }];
  const onSecondaryFailure = () => undefined;
  const names = { turnId: "t", sessionId: "s", attempt: 0 };
  const bus = new EventBus({ ...names, now: () => 0, receivers, onSecondaryFailure });
  bus.publish("turnStarted", {});
  bus.publish("turnFailed", { category: "Error" });
  bus.publish("custom", { source: "x", label: "late", data: {} });
  bus.publishChunk("m", { type: "textDelta", text: "late" });
  expect(seen).toEqual(["turnStarted", "turnFailed"]);
});

test("who subscribes while an observer is given an event gets that event too (T8)", async () => {
  const seen: string[] = [];
  const read: Promise<string[]>[] = [];
  const all = async (source: AsyncIterable<TurnEvent>): Promise<string[]> => {
    const list: string[] = [];
    for await (const { type } of source) list.push(type);
    return list;
  };
  const observer = {
    onEvent: ({ type }: TurnEvent) => {
      if (type !== "roundStarted") return;
      turn.subscribe((event) => void seen.push(event.type));
      read.push(all(turn));
    },
  };
  await using t = await testAgent({ script: [stopResponse("done")], observers: [observer] });
  const turn = t.agent.startTurn("hi", "s");
  await turn.result;
  expect(seen).toEqual(types(t.observer.events));
  expect(await read[0]).toEqual(types(t.observer.events));
});

test("listeners that never finish share one deadline (T7)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], config: { listenerTimeoutMs: 5_000 } });
  for (let i = 0; i < 3; i++)
    t.agent.subscribe(({ type }) => (terminals([{ type } as TurnEvent]).length > 0 ? never() : undefined));
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(5_000);
  let settled = false;
  void turn.result.then(() => (settled = true));
  await t.runtime.advance(0);
  expect(settled).toBe(true);
  expect(t.secondaryFailures).toEqual([{ stage: "terminal event", operation: "listener", errorCategory: "timeout" }]);
});
