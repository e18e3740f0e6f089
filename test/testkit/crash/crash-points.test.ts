import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { ModelError } from "../../../src/domain/errors.js";
import { type AgentMessage, userMessage } from "../../../src/domain/message.js";
import type { SessionDelta } from "../../../src/domain/session.js";
import {
  assertCrashSafe,
  type CrashPlace,
  type CrashReport,
  crashPoints,
  failing,
  fault,
  RecordingSessionStore,
  stopResponse,
  toolOutcome,
} from "../../../src/testkit/index.js";
import { temporaryDirectory } from "../../adapters/sessions/sqlite-fixture.js";
import { reply, user } from "../../support/conversations.js";
import { hookAt } from "../../support/turns.js";
import { parts, payments, scenarios } from "./scenarios.js";

const wellIn = ({ steps }: CrashReport): string =>
  `crash points: ${2 * steps.length} over ${steps.length} steps, all is well`;

describe.each(["store", "journal"] as const)("taken up from the %s", (recovery) => {
  test.each(Object.entries(scenarios))("%s: every crash point is survived", async (_, scenario) => {
    const report = await crashPoints({ ...scenario, recovery });
    expect(report.text).toBe(wellIn(report));
    expect(report.outcomes.length).toBeGreaterThan(8);
  });
});

test("sessions in a file outlive the crash, each life with a connection of its own", async () => {
  const place = (): CrashPlace => {
    const directory = temporaryDirectory();
    const opened: SqliteSessionStore[] = [];
    return {
      open: () => {
        const store = new SqliteSessionStore({ path: join(directory.path, "s.db") });
        opened.push(store);
        return store;
      },
      async [Symbol.asyncDispose]() {
        for (const store of opened) await store.close();
        directory[Symbol.dispose]();
      },
    };
  };
  const report = await assertCrashSafe({ ports: () => parts(), input: "pay", place });
  expect(report.outcomes.map(({ went }) => went)).toContain("resumed");
});

test("with mirrors, and a conversation that goes on in another session, nothing is lost", async () => {
  const place = (): CrashPlace => {
    const stores = [new RecordingSessionStore(), new RecordingSessionStore()];
    return { open: () => stores };
  };
  const fork = {
    name: "fork",
    compress: (messages: readonly unknown[]) =>
      messages.length === 4
        ? {
            type: "newThread" as const,
            newSessionId: "next",
            messages: [userMessage("so far")],
            messagesBefore: 4,
            messagesAfter: 1,
          }
        : { type: "none" as const },
  };
  const report = await crashPoints({ ports: () => ({ ...parts(), compressors: [fork] }), input: "pay", place });
  expect(report.text).toBe(wellIn(report));
});

test("with a record that the turn itself wrote, a replay begins from the one there was", async () => {
  const place = (): CrashPlace => {
    const store = new RecordingSessionStore();
    store.seed("s", { messages: [user("u0", "long ".repeat(200)), reply("a0", "long ".repeat(200))] });
    return { open: () => store };
  };
  const shortens = {
    name: "shortens",
    compress: (messages: readonly AgentMessage[]) =>
      messages[0]?.id === "u0"
        ? { type: "replace" as const, messages: [userMessage("so far")], upTo: "a0" }
        : { type: "none" as const },
  };
  const ports = () => ({ ...parts(), compressors: [shortens] });
  const report = await crashPoints({ ports, input: "pay", place, sessionId: "s", recovery: "journal" });
  expect(report.text).toBe(wellIn(report));
});

test("a store that loses what it had taken is found, with the step and the message", async () => {
  // What was written last is in no file yet when the process dies.
  const place = (): CrashPlace => {
    const disk = new RecordingSessionStore();
    let buffered: { readonly id: string; readonly delta: SessionDelta } | undefined;
    const flush = async (): Promise<void> => {
      if (buffered !== undefined) await disk.append(buffered.id, buffered.delta);
      buffered = undefined;
    };
    return {
      open() {
        buffered = undefined;
        return {
          load: async (id) => (await flush(), disk.load(id)),
          save: (id, session) => disk.save(id, session),
          async append(id, delta) {
            await flush();
            buffered = { id, delta };
            return (await disk.load(id)).revision + 1;
          },
        };
      },
    };
  };
  const report = await crashPoints({ ports: () => parts(), input: "pay", place });
  expect(report.faults).toContainEqual({
    step: "tool#1.0",
    acknowledged: true,
    kind: "lost",
    text: expect.stringMatching(/^message \S+\.1 \(assistant\), which the store had taken, is gone$/) as string,
  });
  expect(report.text).toContain(
    "crash after step tool#1.0, its outcome known, then resumed from the store:\n    lost: ",
  );
  expect(report.faults.map(({ kind }) => kind)).toContain("repeated");
});

test("a loop that stores nothing before its end repeats effects, and is found", async () => {
  const config = { persistence: "turn" as const };
  const report = await crashPoints({ ports: () => ({ ...parts(), config }), input: "pay" });
  expect(report.faults).toContainEqual({
    step: "tool#2.0",
    acknowledged: false,
    kind: "repeated",
    text: "tool pay (call c1) ran 2 times with the same arguments, 1 without a crash; it is not declared idempotent",
  });
  // What is only read may be read again.
  expect(report.text).not.toContain("tool look");
});

test("a store that stores a result twice breaks the law, and is found", async () => {
  const place = (): CrashPlace => {
    const store = new RecordingSessionStore();
    const append = async (id: string, delta: SessionDelta): Promise<number> => {
      const results = delta.messages.filter(({ role }) => role === "tool");
      const again = results.map((message) => ({ ...message, id: `${message.id}.again` }));
      return store.append(id, { ...delta, messages: [...delta.messages, ...again] });
    };
    return {
      open: () => ({ load: (id, known) => store.load(id, known), save: (id, s, o) => store.save(id, s, o), append }),
    };
  };
  const report = await crashPoints({ ports: () => parts(), input: "pay", place });
  expect(report.faults.find(({ kind }) => kind === "law")?.text).toContain('one more result of call "c1"');
});

test("a turn that cannot go on is found, with the reason", async () => {
  const ports = (life: { readonly number: number }) => ({
    ...parts(),
    hooks: life.number < 2 ? [] : [hookAt("beforeModel", () => Promise.reject(new Error("no key")), "keys")],
  });
  const report = await crashPoints({ ports, input: "pay" });
  expect(report.faults[0]).toMatchObject({ step: "load", kind: "unfinished" });
  expect(report.faults[0]?.text).toContain("hook keys failed at beforeModel");
});

test("what hangs is found under the virtual clock, with the step it hangs in, and takes no time", async () => {
  const ports = (life: { readonly number: number }) => {
    const { model, tools } = parts();
    const stuck = failing(model, [{ on: "chatStreaming", does: fault.hangs() }]);
    return { model: life.number === 2 ? stuck : model, tools };
  };
  const report = await crashPoints({ ports, input: "pay" });
  expect(report.faults[0]).toMatchObject({ step: "load", kind: "unfinished", text: "it hangs in step model#1" });
  const first = crashPoints({ ports: () => parts({ tools: { pay: toolOutcome.hangs() } }), input: "pay" });
  await expect(first).rejects.toThrow("the turn does not end without a crash: it hangs in step tool#1.0");
});

test("timeouts of the ports come true under the virtual clock", async () => {
  const ports = () => ({ ...parts({ tools: { pay: toolOutcome.hangs() } }), config: { toolTimeoutMs: 1_800_000 } });
  const report = await crashPoints({ ports, input: "pay", patienceMs: 2 * 3_600_000 });
  expect(report.text).toBe(wellIn(report));
});

test("under the real clock a turn that waits for the system's timers is tried as well", async () => {
  const { model, tools } = parts({ script: [stopResponse("done")] });
  const slow = { chat: async (request: Parameters<typeof model.chat>[0]) => (await tick(), model.chat(request)) };
  const report = await crashPoints({ ports: () => ({ model: slow, tools }), input: "pay", clock: "real" });
  expect(report.text).toBe(wellIn(report));
});

const tick = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

test("a model that failed once is asked again in either life", async () => {
  const ports = () => {
    const { model, tools } = parts();
    const does = fault.fails(new ModelError("overloaded", "full"));
    const flaky = failing(model, [{ on: "chatStreaming", nth: 1, does }]);
    return { model: flaky, tools, hooks: [hookAt("modelError", (_, context) => context.retry(), "again")] };
  };
  const report = await crashPoints({ ports, input: "pay" });
  expect(report.text).toBe(wellIn(report));
});

test("code between the steps that goes by something else than their results is found in a replay", async () => {
  const ports = (life: { readonly number: number }) => ({
    ...parts(),
    hooks: [
      hookAt(
        "beforeTool",
        async (_, context) => void (await context.step(`look ${life.number}`, async () => 1)),
        "whim",
      ),
    ],
  });
  const report = await crashPoints({ ports, input: "pay", recovery: "journal" });
  expect(report.faults.find(({ kind }) => kind === "unfinished")?.text).toMatch(
    /the turn is not deterministic: step \d+ is hook:whim:beforeTool#1.0:look 2, and was hook:whim:beforeTool#1.0:look 1 in/,
  );
});

test("a turn that does not end without a crash is refused with its error", async () => {
  const ports = () => ({ ...parts({ script: payments.slice(0, 1) }) });
  await expect(crashPoints({ ports, input: "pay" })).rejects.toThrow(
    "the turn does not end without a crash: conversing_model_exhausted at call 2 (script had 1 steps)",
  );
});

test("assertCrashSafe throws the report", async () => {
  const config = { persistence: "turn" as const };
  const unsafe = assertCrashSafe({ ports: () => ({ ...parts(), config }), input: "pay" });
  await expect(unsafe).rejects.toThrow("crash after step tool#1.0, before anybody knew its outcome, then run again:");
});
