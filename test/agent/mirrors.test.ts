import { expect, test } from "vitest";
import { SessionError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { JsonObject } from "../../src/domain/json.js";
import { type LoadedSession, type Revision, type SessionDelta, SESSION_KEYS } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { leaseOf, linesOf, SaveOnlyStore, sent, stored, user, writeElsewhere } from "../support/conversations.js";
import { rejectionOf, terminals } from "../support/turns.js";

const script = () => [toolCallResponse("f", "c1"), stopResponse("done")];
const tools = { f: toolOutcome.ok("fine") };
const whole = ["user hi", "calls c1", "c1 = fine", "assistant done"];

const pair = () => [new RecordingSessionStore(), new RecordingSessionStore()] as const;
const writes = (store: RecordingSessionStore): string[] =>
  store.ops.flatMap(({ type, outcome }) => (type === "load" ? [] : [`${type}${outcome.ok ? "" : " failed"}`]));
const linesIn = async (store: RecordingSessionStore, id = "s"): Promise<string[]> =>
  linesOf((await store.load(id)).messages);

/** Keeps the first list and metadata that it is given, and changes them then and later. */
class KeepingStore implements SessionStore {
  readonly name: string;
  #messages: AgentMessage[] | undefined;
  #metadata: JsonObject | undefined;
  #revision = 0;

  constructor(name: string) {
    this.name = name;
  }

  async load(): Promise<LoadedSession> {
    return { messages: [...(this.#messages ?? [])], metadata: { ...this.#metadata }, revision: this.#revision };
  }
  async save(): Promise<Revision> {
    throw new SessionError("save", "appends only");
  }
  async append(_id: string, { messages, metadata = {}, unset = [] }: SessionDelta): Promise<Revision> {
    if (this.#messages === undefined) this.#messages = messages as AgentMessage[];
    else this.#messages.push(...messages);
    if (this.#metadata === undefined) this.#metadata = metadata;
    else Object.assign(this.#metadata, metadata);
    Object.assign(this.#metadata, { keptBy: this.name });
    for (const key of unset) Reflect.deleteProperty(this.#metadata, key);
    return ++this.#revision;
  }
}

test("every store may keep the list and the metadata of a write, and change them", async () => {
  const sessions = [new KeepingStore("authority"), new KeepingStore("mirror")];
  await using t = await testAgent({ script: [...script(), ...script()], tools, sessions });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("hi", "s");
  const [ours, theirs] = await Promise.all(sessions.map((store) => store.load()));
  expect(linesOf(ours?.messages ?? [])).toEqual([...whole, ...whole]);
  expect(ours?.metadata).toHaveProperty([SESSION_KEYS.usage, "turn", "toolCalls"], 1);
  expect(ours?.metadata).toHaveProperty("keptBy", "authority");
  expect(theirs).toEqual({ ...ours, metadata: { ...ours?.metadata, keptBy: "mirror" } });
});

test("a level mirror gets each write of the authority after it, as an append at its own revision (S1)", async () => {
  const order: string[] = [];
  const [authority, mirror] = pair();
  for (const [name, store] of Object.entries({ authority, mirror })) {
    const append = store.append.bind(store);
    store.append = (...args) => (order.push(name), append(...args));
  }
  const messages = [user("old")];
  authority.seed("s", { messages });
  for (let n = 0; n < 4; n++) mirror.seed("s", { messages });
  await using t = await testAgent({ script: script(), tools, sessions: [authority, mirror] });
  await t.agent.runTurn("hi", "s");
  expect(order).toEqual(Array.from({ length: order.length / 2 }, () => ["authority", "mirror"]).flat());
  expect(writes(mirror)).toEqual(writes(authority));
  expect(mirror.ops.filter(({ type }) => type === "load")).toHaveLength(1);
  const [ours, theirs] = [await authority.load("s"), await mirror.load("s")];
  expect(theirs).toEqual({ ...ours, revision: ours.revision + 3 });
});

test("a mirror that is behind is replaced once with the whole session, then appended to (S1)", async () => {
  const [authority, mirror] = pair();
  authority.seed("s", { messages: [user("old")], metadata: { title: "kept" } });
  await using t = await testAgent({ script: script(), tools, sessions: [authority, mirror] });
  await t.agent.runTurn("hi", "s");
  expect(writes(mirror)).toEqual(["save", ...writes(authority).slice(1)]);
  expect(await linesIn(mirror)).toEqual(["user old", ...whole]);
  expect((await mirror.load("s")).metadata).toEqual((await authority.load("s")).metadata);
});

test("a mirror that somebody else wrote to is in conflict, and replaced once (S1)", async () => {
  const [authority, mirror] = pair();
  await using t = await testAgent({ script: [stopResponse("one"), ...script()], tools, sessions: [authority, mirror] });
  await t.agent.runTurn("first", "s");
  await writeElsewhere(mirror, "s", { messages: [user("stray")] });
  const before = writes(mirror).length;
  await t.agent.runTurn("hi", "s");
  expect(writes(mirror).slice(before, before + 3)).toEqual(["append failed", "save", "append"]);
  expect(
    writes(mirror)
      .slice(before)
      .filter((line) => line !== "append"),
  ).toEqual(["append failed", "save"]);
  expect(await linesIn(mirror)).toEqual(await linesIn(authority));
});

test("a mirror as long as the authority whose last message is another is replaced (S1)", async () => {
  const [authority, mirror] = pair();
  authority.seed("s", { messages: [user("ours")] });
  mirror.seed("s", { messages: [user("theirs")] });
  await using t = await testAgent({ script: script(), tools, sessions: [authority, mirror] });
  await t.agent.runTurn("hi", "s");
  expect(await linesIn(mirror)).toEqual(["user ours", ...whole]);
});

test("a mirror may be a store without append (S1)", async () => {
  const [authority, inner] = pair();
  await using t = await testAgent({ script: script(), tools, sessions: [authority, new SaveOnlyStore(inner)] });
  await t.agent.runTurn("hi", "s");
  expect(await linesIn(inner)).toEqual(whole);
  expect(leaseOf(await inner.load("s"))).toBeUndefined();
});

test.each([1, 2, 3, 4])(
  "a mirror that fails at write %i fails the turn once, naming operation and session, and the authority keeps what it has (S1)",
  async (nth) => {
    const [authority, mirror] = pair();
    const lost = new SessionError("save", "disk full");
    mirror.failSave("s\n1", { nth, error: lost });
    await using t = await testAgent({ script: script(), tools, sessions: [authority, mirror] });
    const error = await rejectionOf(t.agent.runTurn("hi", "s\n1"));
    expect(error).toMatchObject({ kind: "session", cause: lost });
    expect(error.message).toContain("append to a mirror of session");
    expect(error.message).toContain("s");
    expect(error.message).not.toContain("\n");
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
    expect(await linesIn(authority, "s\n1")).toEqual(whole.slice(0, nth));
  },
);

test("after a mirror failed the same agent's next turn need not wait for the lease of the turn that failed (S2)", async () => {
  const [authority, mirror] = pair();
  mirror.failSave("s", { nth: 2 });
  await using t = await testAgent({ script: script().slice(0, 1), tools, sessions: [authority, mirror] });
  await rejectionOf(t.agent.runTurn("hi", "s"));
  t.model.push(stopResponse("back"));
  const next = t.agent.runTurn("again", "s");
  await t.runtime.advance(0);
  expect((await next).status).toBe("completed");
  expect(sent(t).slice(0, 3)).toEqual(["user hi", "calls c1", expect.stringContaining("c1 = !")]);
  expect(await linesIn(mirror)).toEqual(await linesIn(authority));
});

test("a load that fails is an AgentError naming operation and session, and the model is not asked (S1)", async () => {
  await using t = await testAgent({ script: script(), tools });
  const lost = new SessionError("load", "no disk");
  t.sessions.failLoad("s", lost);
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "session", message: expect.stringContaining("could not load session s") });
  expect(error.cause).toBe(lost);
  expect(t.model.callCount).toBe(0);
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
});

test("only the authority is read (S1)", async () => {
  const [authority, mirror] = pair();
  authority.seed("s", { messages: [user("ours")] });
  mirror.seed("s", { messages: [user("theirs")], metadata: { [SESSION_KEYS.redirectedTo]: "elsewhere" } });
  await using t = await testAgent({ script: script(), tools, sessions: [authority, mirror] });
  await t.agent.runTurn("hi", "s");
  expect(sent(t, 0)).toEqual(["user ours", "user hi"]);
  expect((await stored(t))[0]).toBe("user ours");
});

test("a store without append is written by load and compared save, and what others patched stays (S1)", async () => {
  const inner = new RecordingSessionStore();
  inner.seed("s", { metadata: { title: "old" } });
  const slow = toolOutcome.held();
  await using t = await testAgent({ script: script(), tools: { f: slow }, sessions: [new SaveOnlyStore(inner)] });
  const turn = t.agent.runTurn("hi", "s");
  await t.tools.started("c1");
  await inner.append("s", { operationId: "patch", messages: [], metadata: { title: "new" } });
  t.tools.settle("c1", toolOutcome.ok("fine"));
  expect((await turn).status).toBe("completed");
  expect(await linesIn(inner)).toEqual(whole);
  const { metadata } = await inner.load("s");
  expect(metadata).toMatchObject({ title: "new" });
  expect(metadata).not.toHaveProperty(SESSION_KEYS.turn);
});

test("a store without append that somebody else wrote to in mid-turn is a conflict (S1, S2)", async () => {
  const inner = new RecordingSessionStore();
  await using t = await testAgent({
    script: script(),
    tools: { f: toolOutcome.held() },
    sessions: [new SaveOnlyStore(inner)],
  });
  const turn = t.agent.runTurn("hi", "s");
  await t.tools.started("c1");
  await writeElsewhere(inner, "s", { messages: [user("stray")] });
  t.tools.settle("c1", toolOutcome.ok("fine"));
  const error = await rejectionOf(turn);
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(await linesIn(inner)).toContain("user stray");
});
