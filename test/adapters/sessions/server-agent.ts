import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { Agent } from "../../../src/agent/agent.js";
import { systemRuntime } from "../../../src/agent/system-runtime.js";
import { AgentError } from "../../../src/domain/errors.js";
import type { Runtime } from "../../../src/ports/runtime.js";
import { stopResponse, toolCallResponse } from "../../../src/testkit/builders.js";
import { openAt, type StorePlace } from "../../support/store-place.js";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { toldClock } from "./told-clock.js";

/** A process of its own with an agent: runs `turns` turns on the session "s", one tool call each, and prints what happens. */
export type AgentTask = {
  readonly place: StorePlace;
  readonly name: string;
  readonly turns: number;
  readonly onBusy: "wait" | "refuse";
  readonly turnLeaseMs?: number;
  /** The tool waits for the line "go on" on the standard input. */
  readonly held?: boolean;
  /** Time passes only by lines such as "pass 200" on the standard input; each is answered with "passed" and its number. */
  readonly toldTime?: boolean;
  /** The tool uses the processor, without letting anything else run, until there is a file of this path. */
  readonly busyUntil?: string;
  /** Also tells when its first turn waits for another process's. */
  readonly tellsWaiting?: boolean;
  /** How far this process's clock is ahead of the others'. */
  readonly clockAheadMs?: number;
};

const task = JSON.parse(process.argv[2] ?? "") as AgentTask;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const store = openAt(task.place);
const clock = task.toldTime === true ? toldClock(store) : undefined;
const goOn = Promise.withResolvers<void>();
let told = 0;
const orders = createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "go on") return goOn.resolve();
  void clock?.pass(Number(line.slice("pass ".length))).then(() => say(`passed ${(told += 1)}`));
});
const tool = defineTool({
  name: "work",
  description: "Works.",
  parameters: Type.Object({}),
  execute: async () => {
    say("working");
    while (task.busyUntil !== undefined && !existsSync(task.busyUntil));
    if (task.held === true) await goOn.promise;
    return `done by ${task.name}`;
  },
});
const own = clock?.runtime ?? systemRuntime();
const runtime: Runtime = { ...own, now: () => own.now() + (task.clockAheadMs ?? 0) };
let turn = 0;
const agent = await Agent.create({
  model: {
    chat: async ({ messages }) => {
      say("asked");
      const last = messages.at(-1);
      return last?.role === "tool"
        ? stopResponse(`${task.name}.${turn} answered`)
        : toolCallResponse("work", `${task.name}.${turn}`, {});
    },
  },
  tools: [tool],
  sessions: [clock?.store ?? store],
  runtime,
  config: { onBusy: task.onBusy, ...(task.turnLeaseMs && { turnLeaseMs: task.turnLeaseMs }) },
});
if (task.tellsWaiting === true) {
  agent.subscribe((event) => {
    if (turn === 0 && event.type === "custom" && event.label === "waiting_for_session") say("waiting");
  });
}
for (turn = 0; turn < task.turns; turn++) {
  try {
    await agent.runTurn(`${task.name}.${turn}`, "s");
    say("completed");
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    say(`${error.kind}: ${error.cause instanceof Error ? error.cause.message : ""}`);
  }
}
orders.close();
process.stdin.destroy();
await agent.shutdown();
await store.close();
