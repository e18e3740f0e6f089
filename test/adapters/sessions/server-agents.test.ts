import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LoadedSession, SESSION_KEYS } from "../../../src/domain/session.js";
import { orderResults } from "../../../src/domain/transcript.js";
import { transcriptLaw } from "../../../src/domain/transcript-law.js";
import { isMessage, textOf } from "../../../src/domain/message.js";
import { type Child, childPrograms, startChild } from "../../support/child-programs.js";
import { describeWith, ownName, postgresUrl, redisUrl, stopServers } from "../../support/servers.js";
import { openAt, type StorePlace } from "../../support/store-place.js";
import type { AgentTask } from "./server-agent.js";
import { serverFixture } from "./server-fixture.js";
import { temporaryDirectory } from "./sqlite-fixture.js";

const programs = childPrograms();
let program: string;
beforeAll(async () => {
  program = await programs.bundle("test/adapters/sessions/server-agent.ts");
});
afterAll(async () => {
  programs[Symbol.dispose]();
  await stopServers();
});

const postgres = await postgresUrl();
const redis = await redisUrl();

/** A place of its own for each test: on the server, or in a file or directory of its own. */
function placeOf(kind: StorePlace["kind"], url: string) {
  const name = ownName();
  if (kind !== "sqlite" && kind !== "jsonl") {
    const place: StorePlace = { kind, url, name };
    const { store, [Symbol.asyncDispose]: dispose } = serverFixture(place);
    return { place, store, dispose };
  }
  const directory = temporaryDirectory();
  const place: StorePlace = { kind, url: join(directory.path, "sessions"), name };
  const store = openAt(place);
  const dispose = async (): Promise<void> => {
    await store.close();
    directory[Symbol.dispose]();
  };
  return { place, store, dispose };
}

function at(kind: StorePlace["kind"], url: string) {
  const { place, store, dispose } = placeOf(kind, url);
  return {
    start: (task: Omit<AgentTask, "place">) => startChild(program, { place, ...task }),
    startTimed: (task: Omit<AgentTask, "place">) => timed(startChild(program, { place, ...task, toldTime: true })),
    stored: () => store.load("s"),
    [Symbol.asyncDispose]: dispose,
  };
}

/** A process whose time passes only as it is told. */
type TimedChild = Child & { pass(ms: number): Promise<void> };

function timed(child: Child): TimedChild {
  let told = 0;
  return {
    ...child,
    /** What it has printed but for how its time passed. */
    get lines() {
      return child.lines.filter((line) => !line.startsWith("passed "));
    },
    /** Resolves when so much time has passed for it, or it has ended. */
    async pass(ms) {
      told += 1;
      child.process.stdin.write(`pass ${ms}\n`);
      await child.printedLine(new RegExp(`^passed ${told}$`));
    },
  };
}

/** Lets time pass for one after the other, as much for each, until all have ended well. */
async function passUntilEnded(children: readonly TimedChild[], ms: number): Promise<void> {
  let over = 0;
  const ends = children.map((child) => child.ended().finally(() => (over += 1)));
  while (over < children.length) {
    for (const child of children) await child.pass(ms);
    await setImmediate();
  }
  expect(await Promise.all(ends)).toEqual(children.map(() => ({ code: 0, noise: "" })));
}

/** What each stored message is: its role and what it says. */
const linesOf = ({ messages }: LoadedSession): string[] =>
  messages.map((message) => {
    if (!isMessage(message)) return "custom";
    const calls = message.role === "assistant" ? message.parts.filter(({ type }) => type === "toolCall").length : 0;
    return calls > 0 ? "assistant calls" : `${message.role} ${textOf(message)}`;
  });

const turnLines = (name: string): string[] => [
  `user ${name}`,
  "assistant calls",
  `tool done by ${name.split(".")[0]}`,
  `assistant ${name} answered`,
];

function suite(kind: StorePlace["kind"], url: string): void {
  test("agents in two processes take turns on one session: whole turns, unmixed, none lost (F135, S2)", async () => {
    await using s = at(kind, url);
    const turns = 6;
    await using a = s.start({ name: "a", turns, onBusy: "wait" });
    await using b = s.start({ name: "b", turns, onBusy: "wait" });
    const ends = await Promise.all([a.ended(), b.ended()]);
    expect(ends).toEqual([0, 0].map((code) => ({ code, noise: "" })));
    for (const { lines } of [a, b]) {
      expect(lines).toEqual(Array.from({ length: turns }, () => ["asked", "working", "asked", "completed"]).flat());
    }

    const session = await s.stored();
    const lines = linesOf(session);
    const groups = Array.from({ length: lines.length / 4 }, (_, n) => lines.slice(n * 4, n * 4 + 4));
    const names = groups.map(([first = ""]) => first.slice("user ".length));
    expect(groups).toEqual(names.map(turnLines));
    expect(names.toSorted()).toEqual(
      ["a", "b"].flatMap((name) => Array.from({ length: turns }, (_, n) => `${name}.${n}`)),
    );
    for (const name of ["a", "b"]) {
      const own = names.filter((one) => one.startsWith(name));
      expect(own).toEqual(own.toSorted());
    }
    expect(transcriptLaw(orderResults(session.messages))).toEqual([]);
    expect(session.metadata[SESSION_KEYS.turn]).toBeUndefined();
  });

  test("an agent that refuses finds the other process's turn before it does anything (S2)", async () => {
    await using s = at(kind, url);
    await using owner = s.start({ name: "a", turns: 1, onBusy: "wait", held: true });
    await owner.printed(2);
    await using other = s.start({ name: "b", turns: 1, onBusy: "refuse" });
    expect(await other.ended()).toEqual({ code: 0, noise: "" });
    expect(other.lines).toEqual([expect.stringMatching(/^session: SessionError\(conflict\)/)]);
    owner.process.stdin.write("go on\n");
    expect(await owner.ended()).toEqual({ code: 0, noise: "" });
    expect(linesOf(await s.stored())).toEqual(turnLines("a.0"));
  });

  test("the turn of a killed process is waited out, then its call has an unknown outcome and nothing is lost (S2, S6)", async () => {
    await using s = at(kind, url);
    const turnLeaseMs = 1_500;
    await using owner = s.start({ name: "a", turns: 1, onBusy: "wait", held: true, turnLeaseMs });
    await owner.printed(2);
    owner.process.kill("SIGKILL");
    await owner.ended();
    const before = await s.stored();
    expect(linesOf(before)).toEqual(["user a.0", "assistant calls"]);
    await using heir = s.start({ name: "b", turns: 1, onBusy: "wait", turnLeaseMs });
    expect(await heir.ended()).toEqual({ code: 0, noise: "" });
    const { messages, metadata } = await s.stored();
    expect(messages.slice(0, 2)).toEqual(before.messages);
    expect(messages[2]).toMatchObject({ role: "tool", toolCallId: "a.0", isError: true, outcome: "unknown" });
    expect(linesOf({ messages: messages.slice(3), metadata, revision: 0 })).toEqual(turnLines("b.0"));
    expect(transcriptLaw(orderResults(messages))).toEqual([]);
    expect(metadata[SESSION_KEYS.turn]).toBeUndefined();
  });

  test("a process whose tool runs longer than its lease keeps the session, and another waits until it is through (S2)", async () => {
    await using s = at(kind, url);
    const turnLeaseMs = 600;
    await using owner = s.startTimed({ name: "a", turns: 1, onBusy: "wait", held: true, turnLeaseMs });
    await owner.printed(2);
    await using other = s.startTimed({ name: "b", turns: 1, onBusy: "wait", turnLeaseMs, tellsWaiting: true });
    await other.printed(1);
    const { revision } = await s.stored();
    // A heartbeat is a third of a lease: the lease has long run out but for these.
    for (let beat = 0; beat < 9; beat++) for (const child of [owner, other]) await child.pass(turnLeaseMs / 3);
    expect((await s.stored()).revision).toBe(revision + 9);
    expect(other.lines).toEqual(["waiting"]);
    owner.process.stdin.write("go on\n");
    await passUntilEnded([owner, other], turnLeaseMs / 10);
    for (const child of [owner, other]) {
      expect(child.lines.slice(-4)).toEqual(["asked", "working", "asked", "completed"]);
    }
    expect(linesOf(await s.stored())).toEqual([...turnLines("a.0"), ...turnLines("b.0")]);
  });

  test("a process whose tool lets no heartbeat run loses the session: its next write tells it, and nothing is stored twice (S2)", async () => {
    await using s = at(kind, url);
    const turnLeaseMs = 600;
    using directory = temporaryDirectory();
    const busyUntil = join(directory.path, "done");
    await using owner = s.start({ name: "a", turns: 1, onBusy: "wait", busyUntil, turnLeaseMs });
    await owner.printed(2);
    expect((await s.stored()).messages).toHaveLength(2);
    await using other = s.start({ name: "b", turns: 1, onBusy: "wait", turnLeaseMs });
    expect(await other.ended()).toEqual({ code: 0, noise: "" });
    expect(other.lines).toEqual(["asked", "working", "asked", "completed"]);
    const taken = await s.stored();
    writeFileSync(busyUntil, "");
    expect(await owner.ended()).toEqual({ code: 0, noise: "" });
    // It asks no model and runs no tool after what it lost the session with.
    expect(owner.lines).toEqual(["asked", "working", expect.stringMatching(/^session: SessionError\(conflict\)/)]);
    const { messages, metadata, revision } = await s.stored();
    expect([messages, revision]).toEqual([taken.messages, taken.revision]);
    expect(messages[2]).toMatchObject({ role: "tool", toolCallId: "a.0", isError: true, outcome: "unknown" });
    expect(linesOf({ messages: messages.slice(3), metadata, revision })).toEqual(turnLines("b.0"));
    expect(transcriptLaw(orderResults(messages))).toEqual([]);
    expect(metadata[SESSION_KEYS.turn]).toBeUndefined();
  });

  test("clocks that differ by a minute, either way, do no harm: turns are whole, and a living lease is waited for (S2)", async () => {
    await using s = at(kind, url);
    const turnLeaseMs = 900;
    const turns = 3;
    const clocks = { a: -60_000, b: 0, c: 60_000 };
    await using owner = s.startTimed({
      name: "o",
      turns: 1,
      onBusy: "wait",
      held: true,
      turnLeaseMs,
      clockAheadMs: -60_000,
    });
    await owner.printed(2);
    const children = Object.entries(clocks).map(([name, clockAheadMs]) =>
      s.startTimed({ name, turns, onBusy: "wait", turnLeaseMs, clockAheadMs, tellsWaiting: true }),
    );
    for (const child of children) await child.printed(1);
    const { revision } = await s.stored();
    const all = [owner, ...children];
    for (let beat = 0; beat < 6; beat++) for (const child of all) await child.pass(turnLeaseMs / 3);
    expect((await s.stored()).revision).toBe(revision + 6);
    expect(children.map(({ lines }) => lines)).toEqual(children.map(() => ["waiting"]));
    owner.process.stdin.write("go on\n");
    await passUntilEnded(all, turnLeaseMs / 10);
    const session = await s.stored();
    const lines = linesOf(session);
    const groups = Array.from({ length: lines.length / 4 }, (_, n) => lines.slice(n * 4, n * 4 + 4));
    const names = groups.map(([first = ""]) => first.slice("user ".length));
    expect(groups).toEqual(names.map(turnLines));
    expect(names.toSorted()).toEqual(["a.0", "a.1", "a.2", "b.0", "b.1", "b.2", "c.0", "c.1", "c.2", "o.0"]);
    expect(session.metadata[SESSION_KEYS.turn]).toBeUndefined();
  });
}

describe("agents in several processes on JSON lines", () => suite("jsonl", ""));
describe("agents in several processes on SQLite", () => suite("sqlite", ""));
describeWith("agents in several processes on PostgreSQL", postgres, (url) => suite("postgres", url));
describeWith("agents in several processes on Redis", redis, (url) => suite("redis", url));
