import { execFile } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkSession } from "../scripts/soak/check-session.js";
import { turnsIn } from "../scripts/soak/turns.js";
import { messagesOf } from "../scripts/soak/writer.js";
import { MemorySessionStore } from "../src/adapters/sessions/memory.js";
import type { AgentMessage } from "../src/domain/message.js";
import { childPrograms } from "./support/child-programs.js";

const programs = childPrograms();
let program: string;

beforeAll(async () => {
  program = await programs.bundle("scripts/soak/main.ts");
});
afterAll(() => programs[Symbol.dispose]());

type Ended = { readonly code: number; readonly output: string; readonly noise: string };

function soak(...args: readonly string[]): Promise<Ended> {
  return new Promise((done) => {
    execFile(process.execPath, [program, ...args], (error, output, noise) => {
      done({ code: error === null ? 0 : Number(error.code), output, noise });
    });
  });
}

describe("a short soak", () => {
  test.each(["jsonl", "sqlite"])(
    "of %s loses, halves, doubles and mixes nothing when its writers are killed",
    async (store) => {
      const { code, output, noise } = await soak("--store", store, "--kills", "24");
      expect(noise).not.toContain("FAULT");
      const report = JSON.parse(output) as Record<string, number>;
      expect(report).toMatchObject({ store, kills: 24, faults: 0 });
      // Each writer has printed something before it was killed.
      expect(report["acknowledged"]).toBeGreaterThanOrEqual(24);
      expect(report["messages"]).toBeGreaterThanOrEqual(3 * (report["acknowledged"] ?? 0));
      expect(code).toBe(0);
    },
  );

  test.each(["jsonl", "sqlite", "memory"])("of %s leaves whole turns when agents share a session", async (store) => {
    const { code, output, noise } = await soak("--store", store, "--writers", "4", "--turns", "5");
    expect(noise).toBe("");
    expect(JSON.parse(output)).toMatchObject({
      store,
      completed: 20,
      failed: {},
      stored: 20,
      messages: 80,
      faults: 0,
    });
    expect(code).toBe(0);
  });

  test.each([
    [[]],
    [["--store", "paper", "--kills", "1"]],
    [["--store", "jsonl"]],
    [["--store", "memory", "--kills", "1"]],
  ])("asked for %j says how it is used", async (args) => {
    const { code, noise } = await soak(...args);
    expect(code).toBe(2);
    expect(noise).toContain("npm run soak -- --store jsonl|sqlite");
  });
});

/** The faults found where these operations were acknowledged and these messages are stored. */
async function faultsOf(
  acknowledged: readonly string[],
  stored: readonly AgentMessage[],
  last = 3,
): Promise<readonly string[]> {
  const store = new MemorySessionStore();
  const operations = Math.round(stored.length / 3);
  for (let revision = 0; revision < operations - 1; revision++) {
    await store.save("s", { messages: [], metadata: {}, revision });
  }
  await store.save("s", { messages: stored, metadata: { w: last }, revision: Math.max(0, operations - 1) });
  const told = acknowledged.map((operation, n) => {
    const [name = "", number] = operation.split(".");
    return { name, session: "s", number: Number(number), revision: n + 1 };
  });
  return (await checkSession(store, "s", told)).faults;
}

describe("the check of a soak", () => {
  const [one, two, three] = [1, 2, 3].map((number) => messagesOf("w", number)) as [
    AgentMessage[],
    AgentMessage[],
    AgentMessage[],
  ];
  const all = ["w.1", "w.2", "w.3"];

  test("finds nothing where all is there, and one write too many is one that had no answer", async () => {
    expect(await faultsOf(all, [...one, ...two, ...three])).toEqual([]);
    expect(await faultsOf(["w.1", "w.2"], [...one, ...two, ...three])).toEqual([]);
  });

  test.each<[string, readonly string[], readonly AgentMessage[], RegExp]>([
    ["a lost write", all, [...one, ...three], /has lost w.2, acknowledged as revision 2/],
    ["a half write", all, [...one, ...two.slice(0, 2), ...three], /message 3 does not begin a whole operation/],
    [
      "a changed message",
      all,
      [...one, { ...two[0], at: 9 } as AgentMessage, ...two.slice(1), ...three],
      /message 3 does/,
    ],
    ["a doubled write", all, [...one, ...two, ...two, ...three], /holds an operation twice/],
    ["a wrong order", all, [...two, ...one, ...three], /not in the order of revisions/],
    ["what nobody wrote", ["w.1"], [...one, ...two, ...three], /holds what nobody was told of: w.2 w.3/],
  ])("finds %s", async (_title, acknowledged, stored, fault) => {
    expect((await faultsOf(acknowledged, stored)).join("\n")).toMatch(fault);
  });

  test("finds metadata that does not go with the messages, and a revision too few", async () => {
    expect(await faultsOf(all, [...one, ...two, ...three], 2)).toEqual(["s has not the metadata of w.3"]);
    expect(await faultsOf([], [])).toEqual(["s has revision 1 after 0 writes"]);
  });

  test("finds turns that are mixed, in pieces, doubled or out of order", () => {
    const roles = ["user", "assistant", "tool", "assistant"] as const;
    const turn = (owner: string, text: string): AgentMessage[] =>
      roles.map((role, n) => ({ role, id: `${owner}.${n}`, at: 1, content: [{ type: "text", text }] }) as AgentMessage);
    const [a, b] = [turn("a", "p0.0"), turn("b", "p0.1")];
    const found = (messages: readonly AgentMessage[]): string => {
      const faults: string[] = [];
      turnsIn(messages, faults);
      return faults.join("\n");
    };
    expect(found([...a, ...b])).toBe("");
    expect(found([...a.slice(0, 2), ...b, ...a.slice(2)])).toContain("message 0 does not begin a whole turn");
    expect(found([...a, ...b.slice(0, 3)])).toContain("message 4 does not begin a whole turn: user assistant tool");
    expect(found([...a, ...a])).toContain("p0.0 is stored twice");
    expect(found([...b, ...a])).toContain("p0.0 is out of order");
  });
});
