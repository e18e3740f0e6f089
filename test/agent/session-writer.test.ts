import { expect, test } from "vitest";
import { Conversation } from "../../src/agent/conversation.js";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { RoundWriter } from "../../src/agent/session-writer.js";
import { Stores } from "../../src/agent/stores.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { RecordingSessionStore, testRuntime } from "../../src/testkit/index.js";
import { linesOf, user } from "../support/conversations.js";

/** A writer that has opened session "s". */
async function opened() {
  const store = new RecordingSessionStore();
  const runtime = testRuntime();
  const failures: unknown[] = [];
  let writes = 0;
  const writer = new RoundWriter({
    stores: new Stores([store]),
    conversation: new Conversation("s"),
    turnId: "turn",
    scope: new InProcessScope({ signal: new AbortController().signal, runtime }),
    runtime,
    replays: false,
    storeTimeoutMs: 30_000,
    turnLeaseMs: 60_000,
    onFailure: (error) => void failures.push(error),
    nextWrite: () => writes++,
  });
  await writer.open([user("first")]);
  const sizes = (): number[] =>
    store.ops.flatMap((op) => (op.type === "append" ? [op.delta?.messages.length ?? -1] : []));
  return { writer, store, failures, sizes };
}

test("what is added while a write is in flight goes into the next one together (U4)", async () => {
  const { writer, store, sizes } = await opened();
  await Promise.all(["a", "b", "c", "d"].map((id) => writer.add([user(id)])));
  await writer.close();
  expect(sizes()).toEqual([1, 1, 3, 0]);
  expect(linesOf((await store.load("s")).messages)).toEqual(["user first", "user a", "user b", "user c", "user d"]);
});

test("what is added the moment a write ends, while others wait, makes no second write at the same time (S2)", async () => {
  const { writer, failures, sizes } = await opened();
  const first = writer.add([user("a")]);
  const chained = first.then(() => writer.add([user("c")]));
  const waiting = writer.add([user("b")]);
  await Promise.all([first, waiting, chained]);
  await writer.close();
  expect(failures).toEqual([]);
  expect(sizes()).toEqual([1, 1, 2, 0]);
});

test("a heartbeat that waits behind a write is overtaken by the end of the lease (S2)", async () => {
  const { writer, store } = await opened();
  const adding = writer.add([user("a")]);
  writer.beat();
  const closing = writer.close({ metadata: { done: true } });
  writer.beat();
  await Promise.all([adding, closing]);
  expect((await store.load("s")).metadata).toEqual({ done: true });
  expect(store.ops.filter(({ type }) => type === "append")).toHaveLength(3);
});

test("after a failed write nothing is written any more, everything is refused with the first cause, which is told once (S1)", async () => {
  const { writer, store, failures } = await opened();
  store.failSave("s", { nth: 1 });
  const ends = await Promise.allSettled([writer.add([user("a")]), writer.add([user("b")])]);
  ends.push(...(await Promise.allSettled([writer.add([user("c")])])));
  writer.beat();
  await writer.close();
  const reasons = ends.map((end) => (end.status === "rejected" ? (end.reason as unknown) : "stored"));
  expect(new Set(reasons)).toEqual(new Set(failures));
  expect(failures).toHaveLength(1);
  const { messages, metadata } = await store.load("s");
  expect(linesOf(messages)).toEqual(["user first"]);
  expect(metadata).toHaveProperty([SESSION_KEYS.turn]);
});
