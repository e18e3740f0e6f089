import { expect, test } from "vitest";
import {
  type AgentMessage,
  isMessage,
  type Message,
  type MessageInput,
  userMessage,
} from "../../src/domain/message.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { RecordingCompressor, stopResponse, testAgent } from "../../src/testkit/index.js";
import { calling, linesOf, reply, result, sent, stored, user } from "../support/conversations.js";
import { hookAt, rejectionOf } from "../support/turns.js";

declare module "../../src/domain/message.js" {
  interface CustomMessages {
    sticky: { readonly role: "sticky"; readonly id: string; readonly at: number; readonly text: string };
  }
}

const sticky = (text: string): AgentMessage => ({ role: "sticky", id: text, at: 1, text });

/** Shows a sticky note as a message of the user. */
const shown = (messages: readonly AgentMessage[]) =>
  messages.flatMap((message): readonly (Message | MessageInput)[] => {
    if (isMessage(message)) return [message];
    return message.role === "sticky" ? [userMessage(`note: ${message.text}`)] : [];
  });

test("custom messages are stored and shown, and left out of requests by default (C2)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  await t.agent.appendMessage("s", sticky("remember"));
  await t.agent.runTurn("hi", "s");
  await t.agent.appendMessage("s", sticky("later"));
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual(["user hi", "assistant one", "user more"]);
  const { messages } = await t.agent.session("s");
  expect(messages.filter((message) => !isMessage(message))).toEqual([sticky("remember"), sticky("later")]);
});

test("toModelMessages projects them, for every request and behind the system prompt (C2)", async () => {
  const config = { system: "be brief", toModelMessages: shown };
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], config });
  await t.agent.appendMessage("s", sticky("remember"));
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual(["system be brief", "user note: remember", "user hi", "assistant one", "user more"]);
  expect(await stored(t)).toHaveLength(5);
});

test("what toModelMessages leaves as a custom message is not sent (C2)", async () => {
  await using t = await testAgent({
    script: [stopResponse("one")],
    config: { toModelMessages: (all) => all as never },
  });
  await t.agent.appendMessage("s", sticky("remember"));
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user hi"]);
});

test("a throw of toModelMessages is a failure to prepare: modelError hooks hear of it and the model is not asked (C2)", async () => {
  const phases: string[] = [];
  const hook = hookAt("modelError", (stage) => void phases.push(stage.phase));
  const cause = new Error("cannot show this");
  const toModelMessages = (): never => {
    throw cause;
  };
  await using t = await testAgent({ script: [stopResponse("never")], config: { toModelMessages }, hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "model", cause: { kind: "request-build", cause } });
  expect(phases).toEqual(["prepare"]);
  expect(t.model.callCount).toBe(0);
  expect(await stored(t)).toEqual(["user hi"]);
});

test("a projection that empties the list it is given changes nothing stored (C2)", async () => {
  const greedy = (messages: readonly AgentMessage[]) => (messages as AgentMessage[]).splice(0).filter(isMessage);
  await using t = await testAgent({
    script: [stopResponse("one"), stopResponse("two")],
    config: { toModelMessages: greedy },
  });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual(["user hi", "assistant one", "user more"]);
});

test("beforeModel sees what was projected, with the system prompt, and changes this request only (C2)", async () => {
  const seen: string[][] = [];
  const hook = hookAt("beforeModel", ({ messages }, context) => {
    seen.push(linesOf(messages));
    return context.round === 1 && seen.length === 1
      ? context.next({ messages: [userMessage("rewritten")] })
      : undefined;
  });
  const config = { system: "be brief", toModelMessages: shown };
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], config, hooks: [hook] });
  await t.agent.appendMessage("s", sticky("remember"));
  await t.agent.runTurn("hi", "s");
  expect(seen).toEqual([["system be brief", "user note: remember", "user hi"]]);
  expect(sent(t)).toEqual(["user rewritten"]);
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual(["system be brief", "user note: remember", "user hi", "assistant one", "user more"]);
});

test("a custom message costs a compressor nothing, and may stand inside what is replaced (C1, C2)", async () => {
  const long = "x".repeat(4_000);
  const compressor = new RecordingCompressor([
    () => ({ type: "replace", messages: [userMessage("summary")], upTo: "remember" }),
  ]);
  await using t = await testAgent({
    script: [stopResponse("one")],
    compressors: [compressor],
    config: { toModelMessages: shown },
  });
  const history = [user("u0", long), calling("a0", "c1"), result("r0", "c1"), sticky("remember"), reply("a1")];
  t.sessions.seed("s", { messages: [...history, user("u1"), reply("a2")] });
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "assistant a1", "user u1", "assistant a2", "user hi"]);
  expect(transcriptLaw(t.model.requests[0]?.messages ?? [])).toEqual([]);
});

test("no request ends with the assistant: input that the model is not shown is nothing to answer (T1)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("never")] });
  await t.agent.runTurn("hi", "s");
  const error = await rejectionOf(t.agent.runTurn([sticky("only this") as never], "s"));
  expect(error).toMatchObject({ kind: "model", cause: { kind: "request-build" } });
  expect(t.model.callCount).toBe(1);
});
