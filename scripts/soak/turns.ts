import { Agent } from "../../src/agent/agent.js";
import { AgentError, EnneadError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";
import { stopResponse, toolCallResponse } from "../../src/testkit/builders.js";
import { startChild } from "./child.js";
import { openStore, type SoakedStore, type StorePlace } from "./store-place.js";

/** A process of its own with an agent that runs so many turns on the session "s". */
export type TurnsTask = {
  readonly role: "agent";
  readonly place: StorePlace;
  readonly name: string;
  readonly turns: number;
};

/** What was counted. */
export type TurnsReport = {
  readonly completed: number;
  /** Turns that ended with a typed error, by its kind; what they left is whole too. */
  readonly failed: Readonly<Record<string, number>>;
  readonly stored: number;
  readonly messages: number;
  readonly faults: readonly string[];
};

/** Runs whole turns, each with a tool call and its result, and prints how each one ended. */
export async function runTurns(
  store: SoakedStore,
  { name, turns }: TurnsTask,
  say: (line: string) => void,
): Promise<void> {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    parameters: Type.Object({}),
    execute: () => `done by ${name}`,
  });
  let turn = 0;
  const agent = await Agent.create({
    model: {
      chat: async ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? stopResponse(`${name}.${turn} answered`)
          : toolCallResponse("work", `${name}.${turn}`, {}),
    },
    tools: [tool],
    sessions: [store],
    config: { onBusy: "wait" },
  });
  for (; turn < turns; turn++) {
    try {
      const { status } = await agent.runTurn(`${name}.${turn}`, "s");
      say(`${status} ${turn}`);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      say(`${error.kind}${EnneadError.is(error.cause) ? `/${error.cause.kind}` : ""} ${turn}`);
    }
  }
  await agent.shutdown();
}

/** Runs agents in as many processes, those of a store in memory in this one, and looks at what they left. */
export async function raceAgents(place: StorePlace, writers: number, turns: number): Promise<TurnsReport> {
  const names = Array.from({ length: writers }, (_, n) => `p${n}`);
  const faults: string[] = [];
  const store = openStore(place);
  const ends = await Promise.all(
    names.map(async (name) => {
      const task: TurnsTask = { role: "agent", place, name, turns };
      const lines: string[] = [];
      if (place.kind === "memory") await runTurns(store, task, (line) => lines.push(line));
      else {
        const child = startChild(task);
        const noise = await child.ended;
        if (noise !== "" || child.process.exitCode !== 0) faults.push(`${name} ended badly: ${noise.slice(0, 2_000)}`);
        lines.push(...child.lines);
      }
      return { name, lines };
    }),
  );
  const { messages } = await store.load("s");
  await store.close?.();
  const stored = turnsIn(messages, faults);
  const completed = ends.flatMap(({ name, lines }) => numbersOf(lines, "completed").map((turn) => `${name}.${turn}`));
  for (const turn of completed) if (!stored.has(turn)) faults.push(`${turn} is completed and not stored`);
  const ended = ends.reduce((sum, { lines }) => sum + lines.length, 0);
  if (ended !== writers * turns) faults.push(`${ended} turns of ${writers * turns} ended`);
  faults.push(...transcriptLaw(orderResults(messages)).map((violation) => JSON.stringify(violation)));
  const failed = failuresIn(ends.flatMap(({ lines }) => lines));
  return { completed: completed.length, failed, stored: stored.size, messages: messages.length, faults };
}

function failuresIn(lines: readonly string[]): Readonly<Record<string, number>> {
  const kinds = lines.map((line) => line.slice(0, line.indexOf(" "))).filter((kind) => kind !== "completed");
  return Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((other) => other === kind).length]));
}

function numbersOf(lines: readonly string[], status: string): string[] {
  return lines.filter((line) => line.startsWith(`${status} `)).map((line) => line.slice(status.length + 1));
}

/** The whole turns of a session by what their input says; one that is mixed with another, in pieces or out of order is a fault. */
export function turnsIn(messages: readonly AgentMessage[], faults: string[]): ReadonlySet<string> {
  const stored = new Set<string>();
  const last = new Map<string, number>();
  for (let at = 0; at < messages.length; ) {
    const group = messages.slice(at, at + 4);
    const roles = group.map(({ role }) => role).join(" ");
    const owners = new Set(group.map(({ id }) => id.slice(0, id.lastIndexOf("."))));
    const [, name = "", number = ""] = /"text":"(p\d+)\.(\d+)"/.exec(JSON.stringify(group[0])) ?? [];
    const isWhole = roles === "user assistant tool assistant" && owners.size === 1;
    if (!isWhole) faults.push(`message ${at} does not begin a whole turn: ${roles}`);
    if (stored.has(`${name}.${number}`)) faults.push(`${name}.${number} is stored twice`);
    if (Number(number) <= (last.get(name) ?? -1)) faults.push(`${name}.${number} is out of order`);
    stored.add(`${name}.${number}`);
    last.set(name, Number(number));
    at += isWhole ? 4 : 1;
  }
  return stored;
}
