import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toProviderTranscript as toChat } from "../../../src/adapters/models/openai-chat/openai-chat-transcript.js";
import { toProviderTranscript as toResponses } from "../../../src/adapters/models/openai-responses/openai-responses-transcript.js";
import { WireNames } from "../../../src/adapters/models/wire/wire-names.js";
import type { Message } from "../../../src/domain/message.js";
import { user } from "./chat-outcome.js";
import { deepFrozen, FOREIGN, storedTranscripts } from "./stored-transcripts.js";

type Wire = { readonly [key: string]: unknown };
const RUNS = { numRuns: 1000 };
const names = new WireNames(["f", "fs.list"]);
const isObject = (value: unknown): value is Wire =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly Wire[] => (Array.isArray(value) ? value.filter(isObject) : []);
const parsed = (value: unknown): unknown => JSON.parse(String(value)) as unknown;

/** The texts of whole user messages: the only thing that no transcript may lose. */
const asked = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, ...message }) => {
    const content = "content" in message ? (message.content as unknown) : undefined;
    const texts =
      typeof content === "string" ? [content] : list(content).map((part) => part["type"] === "text" && part["text"]);
    return role === "user" ? texts.filter((text): text is string => typeof text === "string" && text !== "") : [];
  });

/** What broke off is shown once somebody answers it: a request may then differ in it from the one before. */
const isStopped = (message: Message): boolean => "stopped" in message && message.stopped !== undefined;

describe("the transcript of the chat wire", () => {
  const data = fc.constantFrom<unknown>(
    { field: "reasoning", details: [{ type: "reasoning.encrypted", data: "OWN" }] },
    { field: "role" },
    { extra_content: { google: { thought_signature: "OWN" } } },
  );
  const stored = storedTranscripts(data);
  const echoes = fc.constantFrom<"when-present" | "always" | "never">("when-present", "always", "never");
  const transcript = (
    messages: readonly Message[],
    echoReasoning: "when-present" | "always" | "never" = "when-present",
  ) => toChat(messages, { names, provider: "own", replays: true, echoReasoning }) as readonly Wire[];

  it("answers each call directly behind its reply, in order, once, and nothing else", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const wire = transcript(messages);
        let open: unknown[] = [];
        for (const message of wire) {
          if (message["role"] === "tool") expect(message["tool_call_id"]).toBe(open.shift());
          else expect(open).toEqual([]);
          if (message["role"] === "assistant") open = list(message["tool_calls"]).map(({ id }) => id);
          expect(new Set(open).size).toBe(open.length);
        }
        expect(open).toEqual([]);
      }),
      RUNS,
    );
  });

  it("holds calls that providers take: an id, a name and the text of an object", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        for (const { id, function: called } of transcript(messages).flatMap((message) => list(message["tool_calls"]))) {
          expect(String(id)).toMatch(/^.{1,40}$/su);
          expect((called as Wire)["name"]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(isObject(parsed((called as Wire)["arguments"]))).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it("holds no message and no part that is empty, and only fields of the wire", () => {
    const fields =
      /^(role|content|name|tool_calls|tool_call_id|reasoning|reasoning_content|reasoning_text|reasoning_details)$/;
    fc.assert(
      fc.property(stored, echoes, (messages, echo) => {
        for (const message of transcript(messages, echo)) {
          const { role, content } = message;
          expect(["system", "user", "assistant", "tool"]).toContain(role);
          for (const field of Object.keys(message)) expect(field).toMatch(fields);
          if (role === "tool") expect(typeof content).toBe("string");
          else if (role === "assistant")
            expect(String(content ?? "").trim() !== "" || "tool_calls" in message).toBe(true);
          else expect((content as string | unknown[]).length).toBeGreaterThan(0);
          for (const part of list(content)) expect(part["text"] ?? "not a text").not.toBe("");
        }
      }),
      RUNS,
    );
  });

  it("tells no provider what another one keeps, and leaves no question out", () => {
    fc.assert(
      fc.property(stored, echoes, (messages, echo) => {
        const wire = transcript(messages, echo);
        expect(JSON.stringify(wire)).not.toContain(FOREIGN);
        const told = wire.flatMap(({ role, content }) =>
          role === "user" ? (typeof content === "string" ? [content] : list(content).map(({ text }) => text)) : [],
        );
        for (const text of asked(messages)) expect(told).toContain(text);
      }),
      RUNS,
    );
  });

  it("is the same each time, changes nothing it is given, and keeps its beginning as the conversation grows", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const wire = transcript(deepFrozen(messages));
        expect(transcript(messages)).toEqual(wire);
        const whole = messages.filter((message) => !isStopped(message));
        const more = { role: "user", content: "more" };
        expect(transcript([...whole, user("more")])).toEqual([...transcript(whole), more]);
      }),
      RUNS,
    );
  });
});

describe("the transcript of the responses wire", () => {
  const data = fc.constantFrom<unknown>(
    { type: "reasoning", id: "rs", summary: [], encrypted_content: "OWN" },
    { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "OWN" }] },
    { type: "reasoning", content: [{ type: "reasoning_text", text: "OWN" }] },
    { type: "compaction", encrypted_content: "OWN" },
    { phase: "commentary" },
    { phase: "OWN" },
  );
  const stored = storedTranscripts(data);
  const transcript = (messages: readonly Message[], replaysReasoning = true) =>
    toResponses(messages, { names, provider: "own", replaysReasoning }) as readonly Wire[];

  it("gives each call one output, behind it and before anything is asked, under an id no other call has", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const seen = new Set<unknown>();
        let open: unknown[] = [];
        for (const { type, call_id, role } of transcript(messages)) {
          if (type === "function_call") {
            expect(seen).not.toContain(call_id);
            seen.add(call_id);
            open.push(call_id);
          } else if (type === "function_call_output") {
            expect(open[0]).toBe(call_id);
            open = open.slice(1);
          } else if (role === "user" || role === "system") expect(open).toEqual([]);
        }
        expect(open).toEqual([]);
      }),
      RUNS,
    );
  });

  it("holds calls that the provider takes: an id, a name and the text of an object, and no id of a stored item", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        for (const item of transcript(messages)) {
          if (item["type"] !== "reasoning" && item["type"] !== "compaction") expect(item).not.toHaveProperty("id");
          if (item["type"] !== "function_call") continue;
          expect(item["call_id"]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(item["name"]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(isObject(parsed(item["arguments"]))).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it("holds nothing that is empty, and no reasoning that nothing of its reply follows", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const wire = transcript(messages);
        wire.forEach((item, at) => {
          const next = wire[at + 1];
          if (item["role"] === "assistant") expect(String(item["content"]).trim()).not.toBe("");
          else if (item["type"] === "message") expect(list(item["content"]).length).toBeGreaterThan(0);
          for (const { text } of list(item["content"])) expect(text ?? "no text").not.toBe("");
          if (item["type"] !== "reasoning") return;
          expect(item["encrypted_content"] ?? item["content"]).toBeTruthy();
          const follows = next?.["role"] === "assistant" || next?.["role"] === undefined;
          expect(follows && next !== undefined && next["type"] !== "function_call_output").toBe(true);
        });
      }),
      RUNS,
    );
  });

  it("tells no provider what another one keeps, none at all where that is switched off, and leaves no question out", () => {
    fc.assert(
      fc.property(stored, (messages) => {
        const wire = transcript(messages);
        expect(JSON.stringify(wire)).not.toContain(FOREIGN);
        expect(JSON.stringify(transcript(messages, false))).not.toContain("encrypted_content");
        const told = wire.flatMap(({ role, content }) =>
          role === "user" ? list(content).map(({ text }) => text) : [],
        );
        for (const text of asked(messages)) expect(told).toContain(text);
      }),
      RUNS,
    );
  });

  it("is the same each time, changes nothing it is given, and keeps its beginning as the conversation grows", () => {
    const more = { type: "message", role: "user", content: [{ type: "input_text", text: "more" }] };
    fc.assert(
      fc.property(stored, (messages) => {
        const wire = transcript(deepFrozen(messages));
        expect(transcript(messages)).toEqual(wire);
        const whole = messages.filter((message) => !isStopped(message));
        expect(transcript([...whole, user("more")])).toEqual([...transcript(whole), more]);
      }),
      RUNS,
    );
  });
});
