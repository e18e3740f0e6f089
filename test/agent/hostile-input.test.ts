import { expect, test } from "vitest";
import type { MessageInput } from "../../src/domain/message.js";
import { runLoop } from "../../src/agent/run-loop.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import { RecordingSessionStore, ScriptedModel, stopResponse, testAgent, toolOutcome } from "../../src/testkit/index.js";
import { callsOf, hookAt, rejectionOf, terminals } from "../support/turns.js";

const user = (...content: readonly unknown[]) => ({ role: "user", content }) as unknown as MessageInput;
const url = { url: "https://example.org/x" };

const broken: readonly (readonly [string, unknown, string])[] = [
  ["an image without source", user({ type: "image", mimeType: "image/png" }), ".content[0].source"],
  ["an image without type", user({ type: "image", source: url }), ".content[0].mimeType"],
  ["a file with an empty source", user({ type: "file", source: {}, mimeType: "a/b" }), ".content[0].source"],
  ["a file named by a number", user({ type: "file", source: url, mimeType: "a/b", name: 5 }), ".content[0].name"],
  ["a name that is a number", { ...user({ type: "text", text: "x" }), name: 5 }, ".name"],
  ["metadata that is a list", { ...user({ type: "text", text: "x" }), metadata: [] }, ".metadata"],
  ["an id that is a number", { ...user({ type: "text", text: "x" }), id: 5, at: 1 }, ".id"],
  ["reasoning without text", { role: "assistant", parts: [{ type: "reasoning" }] }, ".parts[0].text"],
];

test.each(broken)("%s is refused as input and as an appended message, naming the place", async (_, message, place) => {
  await using t = await testAgent({ script: [stopResponse("fine")] });
  const given = message as MessageInput;
  for (const refused of [
    t.agent.runTurn([given, user({ type: "text", text: "x" })], "s"),
    t.agent.appendMessage("s", given),
  ]) {
    const error = await rejectionOf(refused);
    expect(error.kind).toBe("invalid-input");
    expect(error.message).toContain(place);
  }
  expect((await t.agent.session("s")).messages).toEqual([]);
  expect((await t.agent.runTurn("hi", "s")).text).toBe("fine");
});

test("a part of an unknown type is kept beside others, and alone it is no content", async () => {
  const hologram = { type: "hologram", beam: 1 };
  await using t = await testAgent({ script: [stopResponse("fine")] });
  expect((await rejectionOf(t.agent.runTurn(user(hologram), "s"))).kind).toBe("invalid-input");
  const { messages } = await t.agent.runTurn(user(hologram, { type: "text", text: "x" }), "s");
  expect(messages[0]).toMatchObject({ content: [hologram, { type: "text" }] });
});

test("what a newer version stored is loaded as it is", async () => {
  const store = new RecordingSessionStore();
  const content = [{ type: "hologram" }, { type: "image" }, { type: "text", text: "x" }];
  const stored = { role: "user", content, name: 5, id: "m", at: 1 } as never;
  await store.save("s", { messages: [stored], metadata: {}, revision: 0 });
  await using t = await testAgent({ script: [stopResponse("fine")], sessions: [store] });
  await t.agent.runTurn("hi", "s");
  expect((await t.agent.session("s")).messages[0]).toEqual(stored);
});

test.each([[[]], [[{ role: "user" }]], [[user({ type: "image" })]], [[{ role: "user", content: "" }]], ["hi"]])(
  "a hook that makes the input %j aborts its turn before anything is published",
  async (input) => {
    const hook = hookAt("beforeTurn", (_, context) => context.next({ input: input as never }), "broken");
    await using t = await testAgent({ script: [], hooks: [hook] });
    expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("hook-aborted");
    expect(t.observer.events).toEqual([]);
  },
);

test("a turn without input of its own may pass its hooks with none", async () => {
  const hook = hookAt("beforeTurn", (stage, context) => context.next({ input: stage.input }), "same");
  const model = new ScriptedModel([stopResponse("fine")]);
  expect((await runLoop([{ role: "user", content: "hi" }], { model, hooks: [hook] })).text).toBe("fine");
});

const orphan = { role: "tool", toolCallId: "c", toolName: "f", content: [], isError: false, outcome: "completed" };

test.each([
  ["a custom message", { role: "note" }],
  ["a result without call", orphan],
])("nothing but %s makes no empty request", async (_, message) => {
  const model = new ScriptedModel([]);
  const error = await rejectionOf(runLoop([message as MessageInput], { model, config: { system: "Be brief." } }));
  expect(error).toMatchObject({ kind: "model", cause: { kind: "request-build" } });
  expect(model.callCount).toBe(0);
});

test.each([undefined, null, 5, {}])(
  "a system prompt that a function makes %j fails the preparation",
  async (prompt) => {
    const phases: string[] = [];
    const hook = hookAt("modelError", (stage) => void phases.push(stage.phase));
    const config = { system: () => prompt as never };
    await using t = await testAgent({ script: [], hooks: [hook], config });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "request-build" } });
    expect(phases).toEqual(["prepare"]);
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  },
);

const whole = { role: "user", content: [{ type: "text", text: "x" }], id: "m", at: 1 };
const damaged: readonly (readonly [string, object])[] = [
  ["a message without content", { messages: [{ role: "user" }] }],
  [
    "a reply whose call has no arguments",
    { messages: [{ role: "assistant", parts: [{ type: "toolCall", id: "c", name: "f" }] }] },
  ],
  ["a record of nothing", { messages: [whole], compaction: { upTo: "m", messages: [null] } }],
];

test.each(damaged)("%s in a store is corrupt, not a crash", async (_, fields) => {
  const load = () => Promise.resolve({ metadata: {}, revision: 1, ...fields });
  const store = { load, save: () => Promise.resolve(2), append: () => Promise.resolve(2) } as unknown as SessionStore;
  await using t = await testAgent({ script: [], sessions: [store] });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session", cause: { kind: "corrupt" } });
});

test("a hook that renames a call to what is no text aborts its turn", async () => {
  const hook = hookAt("beforeTool", (stage, context) => context.next({ call: { ...stage.call, name: 5 as never } }));
  await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.ok("r") }, hooks: [hook] });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("hook-aborted");
});

const records: readonly (readonly [string, object])[] = [
  ["messages that are none", { messages: [user({ type: "image" })] }],
  ["a record of nothing", { messages: [whole], compaction: { upTo: "m", messages: [null] } }],
  ["a record that ends nowhere", { messages: [whole], compaction: { messages: [whole] } }],
  ["a record that is null", { messages: [whole], compaction: null }],
];

test.each(records)("an import with %s is refused, and nothing is stored", async (_, fields) => {
  await using t = await testAgent({ script: [] });
  const session = { metadata: {}, revision: 0, ...fields } as never;
  expect((await rejectionOf(t.agent.sessions.import(session, { id: "s" }))).kind).toBe("invalid-input");
  expect((await t.agent.session("s")).revision).toBe(0);
});
