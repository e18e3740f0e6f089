import { expect, test } from "vitest";
import { SessionLocks } from "../../src/agent/session-locks.js";
import { AgentError, SessionError } from "../../src/domain/errors.js";
import type { ToolContext, ToolProvider } from "../../src/ports/tool-provider.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgent,
  toolCallResponse,
  toolDef,
} from "../../src/testkit/index.js";
import { stored } from "../support/conversations.js";
import { hookAt, rejectionOf } from "../support/turns.js";

type Work = (t: TestAgent, context: ToolContext) => Promise<unknown>;

/** An agent with one tool, `work`, which tells the model how it ended. */
async function worker(
  work: Work,
  { sessions, calls = 1 }: { readonly sessions?: RecordingSessionStore; readonly calls?: number } = {},
): Promise<{ readonly t: TestAgent; readonly refusals: unknown[] }> {
  const refusals: unknown[] = [];
  const made = Promise.withResolvers<TestAgent>();
  const provider: ToolProvider = {
    listTools: () => [toolDef("work")],
    async execute(_, context) {
      await work(await made.promise, context).catch((error: unknown) => refusals.push(error));
      return "tried";
    },
  };
  const asked = Array.from({ length: calls }, (_, n) => toolCallResponse("work", `c${n}`));
  const t = await testAgent({
    script: [...asked, ...Array.from({ length: 2 * calls - 1 }, () => stopResponse("done"))],
    providers: [provider],
    ...(sessions === undefined ? undefined : { sessions: [sessions] }),
  });
  made.resolve(t);
  return { t, refusals };
}

async function refused(refusals: unknown[], work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => refusals.push(error));
}

function expectConflict(error: unknown): void {
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ kind: "session" });
  expect((error as AgentError).cause).toBeInstanceOf(SessionError);
  expect((error as AgentError).cause).toMatchObject({ kind: "conflict" });
}

test.each<[string, Work]>([
  ["append to", (t, { sessionId }) => t.agent.appendMessage(sessionId, { role: "user", content: "x" })],
  ["fork", (t, { sessionId }) => t.agent.sessions.fork(sessionId)],
  [
    "import",
    (t, { sessionId }) => t.agent.sessions.import({ messages: [], metadata: {}, revision: 0 }, { id: sessionId }),
  ],
  ["delete", (t, { sessionId }) => t.agent.sessions.delete(sessionId)],
  ["run a turn on", (t, { sessionId }) => t.agent.runTurn("inner", sessionId)],
])("a tool that wants to %s its own session is refused, and its turn goes on (T1)", async (_, work) => {
  const { t, refusals } = await worker(work);
  await using _t = t;
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusals).toHaveLength(1);
  expectConflict(refusals[0]);
});

test("what a hook left for the end of a round is refused at once, too (T1, H4)", async () => {
  const refusals: unknown[] = [];
  const late = hookAt("beforeModel", (_, context) => {
    context.onSettled(() => refused(refusals, t.agent.appendMessage("s", { role: "user", content: "x" })));
  });
  const t = await testAgent({ script: [stopResponse("done")], hooks: [late] });
  await using _t = t;
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusals).toHaveLength(1);
  expectConflict(refusals[0]);
});

test("a provider that wants to use the session of the turn it lists for is refused at once, too (T1, U8)", async () => {
  const refusals: unknown[] = [];
  const provider: ToolProvider = {
    async listTools({ sessionId }) {
      if (sessionId !== undefined) await refused(refusals, t.agent.compact(sessionId));
      return [];
    },
    execute: () => "",
  };
  const t = await testAgent({ script: [stopResponse("done")], providers: [provider] });
  await using _t = t;
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusals).toHaveLength(1);
  expectConflict(refusals[0]);
});

test("of two tools that each run a turn on the other's session one is refused, and both turns end (T1)", async () => {
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const { t, refusals } = await worker(
    async ({ agent }, { sessionId }) => {
      waiting += 1;
      if (waiting === 2) both.resolve();
      await both.promise;
      return agent.runTurn("inner", sessionId === "a" ? "b" : "a");
    },
    { calls: 2 },
  );
  await using _t = t;
  const ends = await Promise.all(["a", "b"].map((id) => t.agent.runTurn("hi", id)));
  expect(ends.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(refusals).toHaveLength(1);
  expectConflict(refusals[0]);
});

test("a tool that runs a turn on its own session through another agent on the store is refused (T1, S2)", async () => {
  const sessions = new RecordingSessionStore();
  await using other = await testAgent({ script: [stopResponse("inner")], sessions: [sessions] });
  const { t, refusals } = await worker(
    // Two virtual runtimes count alike.
    (_, { sessionId }) => other.agent.runTurn("inner", sessionId, { turnId: "inner" }),
    { sessions },
  );
  await using _t = t;
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusals).toHaveLength(1);
  expectConflict(refusals[0]);
});

test("a tool runs a turn of another agent on a session of the same id in another store (A3)", async () => {
  await using other = await testAgent({ script: [stopResponse("inner")] });
  const { t, refusals } = await worker((_, { sessionId }) => other.agent.runTurn("inner", sessionId));
  await using _t = t;
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusals).toEqual([]);
  expect(await stored(other)).toContain("user inner");
});

test("what a tool left running may use the session once its turn is over (T1)", async () => {
  const over = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  const { t, refusals } = await worker(async ({ agent }, { sessionId }) => {
    late = over.promise.then(() => agent.appendMessage(sessionId, { role: "user", content: "late" }));
  });
  await using _t = t;
  await t.agent.runTurn("hi", "s");
  over.resolve();
  expect(await late).toMatchObject({ role: "user" });
  expect(refusals).toEqual([]);
});

test("locks refuse what closes a circle over any number of waits, and forget who gave up (T1)", async () => {
  const locks = new SessionLocks();
  const frees = ["a", "b", "c"].map((id) => locks.take(id));
  const first = locks.acquire("b", ["a"]);
  const gaveUp = ["b"];
  void locks.acquire("c", gaveUp);
  expectConflict(await rejectionOf(locks.acquire("a", ["c"])));
  gaveUp.length = 0;
  const third = locks.acquire("a", ["c"]);
  for (const free of frees) free();
  await Promise.all([first, third]);
});

test("a turn id that the session has seen before is refused and loses nothing in silence (S2)", async () => {
  await using t = await testAgent({ script: ["one", "two", "three"].map((text) => stopResponse(text)) });
  await t.agent.runTurn("first", "s", { turnId: "t" });
  const error = await rejectionOf(t.agent.runTurn("second", "s", { turnId: "t" }));
  expect(error).toMatchObject({ kind: "session" });
  expect(error.message).toContain("before");
  expect(await stored(t)).not.toContain("user second");
  expect((await t.agent.runTurn("third", "s")).text).toBe("two");
  expect(await stored(t)).toEqual(expect.arrayContaining(["user first", "user third"]));
});

test("the same holds for a turn that writes once at its end (S3)", async () => {
  const config = { persistence: "turn" } as const;
  await using t = await testAgent({ script: ["one", "two"].map((text) => stopResponse(text)), config });
  await t.agent.runTurn("first", "s", { turnId: "t" });
  expect(await rejectionOf(t.agent.runTurn("second", "s", { turnId: "t" }))).toMatchObject({ kind: "session" });
});
