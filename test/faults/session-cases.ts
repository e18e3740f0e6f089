import { expect, test } from "vitest";
import type { AgentMessage } from "../../src/domain/message.js";
import type { LoadedSession, Session, SessionPage, SessionQuery } from "../../src/domain/session.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";

/** A store with every method of its port. */
export type WholeStore = Required<SessionStore> & { list(query?: SessionQuery): Promise<SessionPage> };

type Fixture = AsyncDisposable & { readonly store: WholeStore };

const textOf = (message: AgentMessage | undefined): unknown => JSON.parse(JSON.stringify(message ?? null));

/** The field cases of sessions that are the same for every store; each is tried on an empty one. */
export function sessionCases(make: () => Fixture): void {
  test("F135: of two turns written on one base, one is stored whole and the other is told", async () => {
    await using fixture = make();
    const { store } = fixture;
    const { revision } = await store.load("s1");
    const turn = async (word: string): Promise<unknown> => {
      const question = await store.append("s1", deltaOf(`${word} asked`, revision, [note(word)]));
      return store.append("s1", deltaOf(`${word} answered`, question, [note(`${word} answer`)]));
    };
    const ends = await Promise.allSettled([turn("one"), turn("two")]);
    const failed = ends.filter((end) => end.status === "rejected");
    expect(failed.map(({ reason }) => reason as unknown)).toMatchObject([{ name: "SessionError", kind: "conflict" }]);
    const ids = (await store.load("s1")).messages.map(({ id }) => id);
    expect([
      ["one", "one answer"],
      ["two", "two answer"],
    ]).toContainEqual(ids);
  });

  test("F137: changing the title keeps the fifty messages, and a part of a session cannot replace the whole", async () => {
    await using fixture = make();
    const { store } = fixture;
    const messages = Array.from({ length: 50 }, (_, n) => note(`m${n}`));
    const revision = await store.append("s", deltaOf("o", 0, messages, { metadata: { title: "old" } }));
    await store.append("s", deltaOf("p", undefined, [], { metadata: { title: "new" } }));
    const part: LoadedSession = await store.load("s", revision);
    expect(part.messages).toEqual([]);
    await expect(store.save("s", { ...part, metadata: { title: "wiped" } })).rejects.toMatchObject({ kind: "save" });
    expect(await store.load("s")).toEqual({ messages, metadata: { title: "new" }, revision });
  });

  test("F139: fields and parts of a newer version survive a load, a turn and a save", async () => {
    await using fixture = make();
    const { store } = fixture;
    const hologram = { type: "hologram", x: 1 };
    const message = { ...note("m"), content: [hologram], tags: [1] } as unknown as AgentMessage;
    const stored: Session & { v2: object } = { messages: [message], metadata: {}, revision: 0, v2: { a: 1 } };
    await store.save("s", stored);
    const revision = await store.append("s", deltaOf("o", 1, [note("n")]));
    await store.save("s", await store.load("s"));
    expect(await store.load("s")).toEqual({ ...stored, messages: [message, note("n")], revision: revision + 1 });
  });

  test.each(["k\u0000v", "x\ud800y \u{1f600}"])("F142, F144: the text %j comes back as it was", async (text) => {
    await using fixture = make();
    const { store } = fixture;
    const result: AgentMessage = {
      ...{ role: "tool", id: "m", at: 1, toolCallId: "c", toolName: text, isError: false, outcome: "completed" },
      content: [{ type: "text", text }],
      details: { [text]: text },
    };
    await store.append(text, deltaOf(text, 0, [result], { metadata: { [text]: text } }));
    const { messages, metadata } = await store.load(text);
    expect(textOf(messages[0])).toEqual(textOf(result));
    expect(metadata).toEqual({ [text]: text });
    expect((await store.list()).items.map(({ id }) => id)).toEqual([text]);
  });

  test("F147: values keep their types", async () => {
    await using fixture = make();
    const { store } = fixture;
    const metadata = { n: 5, z: null, b: false, s: "5", e: "", arr: [], big: 9007199254740991 };
    const revision = await store.save("s", { messages: [], metadata, revision: 0 });
    expect(await store.load("s")).toStrictEqual({ messages: [], metadata, revision });
    await store.append("s", deltaOf("o", revision, [], { metadata }));
    expect((await store.list()).items[0]?.metadata).toStrictEqual(metadata);
  });
}
